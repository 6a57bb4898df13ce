/** Clients of both generations of the MCP SDK, connected to the application. */
import {
  Client as Client2,
  type ClientCapabilities,
  StreamableHTTPClientTransport as Transport2,
} from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { reach } from "../../support/caller.ts";

const URL_OF_MCP = new URL("https://weir.test/mcp");
const INFO = { name: "test", version: "1" };

const createOptions = (key: string) => ({
  fetch: (url: string | URL, init?: RequestInit) => reach(new Request(url, init)),
  requestInit: { headers: { "x-api-key": key } },
});

/** The first generation: 2025-11-25. It declares that it elicits, which a stateless server does not see at a call. */
export async function connectFirst(key: string, address = URL_OF_MCP): Promise<Client1> {
  const client = new Client1(INFO, { capabilities: { elicitation: {} } });
  await client.connect(new Transport1(address, createOptions(key)));
  return client;
}

/** The second generation: 2026-07-28. `answer`: what a person answers to a question; without it the client has no elicitation. */
export async function connectSecond(
  key: string,
  answer?: (params: Asked) => Answer,
  address = URL_OF_MCP,
): Promise<Client2> {
  const capabilities = answer ? { elicitation: { form: {} } } : {};
  const client = new Client2(INFO, { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } });
  if (answer) client.setRequestHandler("elicitation/create", ({ params }) => ({ ...answer(params as Asked) }));
  await client.connect(new Transport2(address, createOptions(key)));
  return client;
}

/** The second generation, with these capabilities: a person, a model and a root answer always the same. */
export async function connectAble(key: string, capabilities: ClientCapabilities) {
  const client = new Client2(INFO, { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } });
  const forms: string[] = [];
  if (capabilities.elicitation) {
    client.setRequestHandler("elicitation/create", ({ params }) => {
      forms.push(params.message);
      const { properties } = (params as unknown as Asked).requestedSchema;
      const known: Record<string, string | boolean> = { name: "Ada", color: "blue", ok: true };
      const content = Object.keys(properties).map((name) => [name, known[name] ?? ""]);
      return { action: "accept" as const, content: Object.fromEntries(content) as Record<string, string> };
    });
  }
  if (capabilities.sampling) {
    client.setRequestHandler("sampling/createMessage", () => ({
      role: "assistant" as const,
      content: { type: "text" as const, text: "Paris" },
      model: "m",
    }));
  }
  if (capabilities.roots) client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///home" }] }));
  await client.connect(new Transport2(URL_OF_MCP, createOptions(key)));
  return { client, forms };
}

export interface Asked {
  message: string;
  requestedSchema: { properties: Record<string, { enum?: string[]; title?: string }>; required?: string[] };
}

export interface Answer {
  action: "accept" | "decline" | "cancel";
  content?: Record<string, string>;
}

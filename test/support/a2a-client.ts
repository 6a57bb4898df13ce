/** The stock A2A client, 1.3.0, on a server of the tests. */
import { type Message, Role, type SendMessageRequest } from "@a2a-js/sdk";
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
} from "@a2a-js/sdk/client";
import type { Access } from "./server.ts";

/** `fetch` with the workspace's key. */
export function fetchAs({ key }: Pick<Access, "key">): typeof fetch {
  return (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("x-api-key", key);
    return fetch(input, { ...init, headers });
  };
}

export async function connectA2a(
  access: Pick<Access, "url" | "key">,
  agent: string,
  { legacy = false, fetchImpl = fetchAs(access) }: { legacy?: boolean; fetchImpl?: typeof fetch } = {},
): Promise<Client> {
  const options = { fetchImpl, ...(legacy && { legacyCompat: { enabled: true } }) };
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      cardResolver: new DefaultAgentCardResolver(options),
      transports: [new JsonRpcTransportFactory(options)],
    }),
  );
  return factory.createFromUrl(access.url, `/a2a/${agent}/.well-known/agent-card.json`);
}

/** A person's message of one text, as the client sends it. */
export function createMessage(
  text: string,
  message: Partial<Message> = {},
  configuration: Partial<NonNullable<SendMessageRequest["configuration"]>> = {},
): SendMessageRequest {
  return {
    tenant: "",
    message: {
      messageId: crypto.randomUUID(),
      role: Role.ROLE_USER,
      parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" }],
      contextId: "",
      taskId: "",
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
      ...message,
    },
    configuration: {
      acceptedOutputModes: [],
      taskPushNotificationConfig: undefined,
      returnImmediately: false,
      ...configuration,
    },
    metadata: undefined,
  };
}

export const joinText = (parts: Message["parts"] = []): string =>
  parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");

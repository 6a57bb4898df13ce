/** The MCP server of one request: no state is kept between requests. */
import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Context } from "hono";
import * as v from "valibot";
import { isObject } from "../../lib/json.ts";
import { serverAddress, type App, idempotentId } from "../../http/context.ts";
import { toProblem } from "../../lib/problem.ts";
import { VERSION } from "../../system/info.ts";
import { readConfigurable } from "../../threads/api/request.ts";
import { authorize } from "../../access/users/handlers.ts";
import { respondToInterrupt, callAssistant, continueCall } from "./call.ts";
import { reportTo } from "./follow.ts";
import { listPrompts, readPrompt } from "./prompts.ts";
import { RESPONSE_MEMBER, type ClientDisplay } from "./interrupts.ts";
import { completeName, listResources, readResource, TEMPLATES } from "./resources.ts";
import { RESPOND_TOOL, RespondArguments, assistantOfTool, listTools, outputSchemaOfTool, PAGE } from "./tools.ts";

type C = Context<App>;

export function serverFor(c: C): Server {
  const principal = c.get("principal");
  const { workspaceId } = principal;
  const visible = () => authorize(principal, "assistants", "search", { metadata: {} });
  const capabilities = { tools: { listChanged: false }, resources: {}, prompts: {}, completions: {}, logging: {} };
  const server = new Server({ name: "Weir", version: VERSION }, { capabilities });
  server.setRequestHandler("tools/list", async ({ params }) => {
    const offset = parseOffset(params?.cursor);
    const { tools, more } = await listTools(c.env, workspaceId, offset, await visible());
    return more ? { tools, nextCursor: String(offset + PAGE) } : { tools: [...tools, RESPOND_TOOL] };
  });
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const assistant =
      params.name === RESPONSE_MEMBER
        ? undefined
        : await assistantOfTool(c.env, workspaceId, params.name, await visible());
    if (!assistant && params.name !== RESPONSE_MEMBER)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Unknown tool. List the tools for their names.");
    return withProblems(c, () => callTool(c, context, assistant, params.arguments ?? {}));
  });
  server.setRequestHandler("prompts/list", async ({ params }) => {
    const offset = parseOffset(params?.cursor);
    const { prompts, more } = await listPrompts(c.env, workspaceId, offset, await visible());
    return more ? { prompts, nextCursor: String(offset + PAGE) } : { prompts };
  });
  server.setRequestHandler("prompts/get", async ({ params }) =>
    withProblems(c, async () => readPrompt(c.env, workspaceId, params, await visible())),
  );
  const reader = { env: c.env, principal, visible };
  server.setRequestHandler("resources/list", async ({ params }) =>
    withProblems(c, () => listResources(reader, parseOffset(params?.cursor))),
  );
  server.setRequestHandler("resources/templates/list", () => ({ resourceTemplates: TEMPLATES }));
  server.setRequestHandler("resources/read", async ({ params }) =>
    withProblems(c, () => readResource(reader, params.uri)),
  );
  server.setRequestHandler("completion/complete", async ({ params }) =>
    withProblems(c, async () => ({ completion: await completeName(reader, params) })),
  );
  return server;
}

async function callTool(
  c: C,
  context: ServerContext,
  assistant: Awaited<ReturnType<typeof assistantOfTool>>,
  given: Record<string, unknown>,
): Promise<CallToolResult | InputRequiredResult> {
  const principal = c.get("principal");
  const { mcpReq } = context;
  const configurable = readConfigurable(c.req.raw.headers, principal);
  const by = { env: c.env, principal, configurable, via: "mcp" as const };
  const run = {
    // One POST of 2025-03-26 may have several calls.
    id: idempotentId(c, String(mcpReq.id)),
    keepUntil: c.get("idempotency")?.ends,
    signal: mcpReq.signal,
    report: reportTo(context),
    takesRequests: mcpReq.envelope !== undefined,
    shows: shownBy(mcpReq.envelope),
    address: serverAddress(c),
    schema: assistant && (await outputSchemaOfTool(assistant, c.env)),
  };
  if (!assistant) {
    const parsed = v.safeParse(RespondArguments, given);
    if (!parsed.success)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Give thread_id, and the answer as answer.");
    const { thread_id: threadId, interrupt_id: interruptId, answer } = parsed.output;
    return respondToInterrupt(by, { threadId, interruptId, answer }, run);
  }
  const state: unknown = mcpReq.requestState();
  if (typeof state === "string") return continueCall(by, assistant, state, mcpReq.inputResponses ?? {}, run);
  return callAssistant(by, assistant, given, run);
}

/** Without a mode, a client that elicits shows forms. */
function shownBy(envelope: unknown): ClientDisplay {
  const capabilities = isObject(envelope) ? envelope[CLIENT_CAPABILITIES_META_KEY] : undefined;
  const elicitation = isObject(capabilities) ? capabilities.elicitation : undefined;
  if (!isObject(elicitation)) return { forms: false, urls: false };
  return { forms: isObject(elicitation.form) || elicitation.url === undefined, urls: isObject(elicitation.url) };
}

/** What a route would answer with a problem is an error of the protocol. */
async function withProblems<T>(c: C, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof ProtocolError) throw error;
    const { status, detail } = toProblem(error);
    if (status >= 500) c.set("serverFault", true);
    throw new ProtocolError(status < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, detail);
  }
}

function parseOffset(cursor = "0"): number {
  const offset = Number(cursor);
  if (Number.isSafeInteger(offset) && offset >= 0) return offset;
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Unknown cursor.");
}

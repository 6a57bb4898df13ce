/**
 * `/mcp`: the Model Context Protocol over streamable HTTP, stateless. Each assistant is a tool. Version 2026-07-28, in which each
 * request says its version, and the versions before it, which begin with `initialize`.
 */
import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { type Context, Hono } from "hono";
import { documented } from "../http/documented.ts";
import { decodeJson, NESTING, nestsDeeper } from "../http/json.ts";
import { Problem, toProblem } from "../http/problem.ts";
import type { App } from "../http/types.ts";
import { BODY_LIMIT, readBody } from "../http/validate.ts";
import { idempotentId } from "../idempotency/middleware.ts";
import { VERSION } from "../system/info.ts";
import { configurableOf } from "../threads/requests/runs/request.ts";
import { authorize } from "../users/authorize.ts";
import { callAssistant } from "./call.ts";
import { assistantOfTool, listTools, PAGE } from "./tools.ts";

const doc = documented("MCP");

/** A server for one request: no state is kept between requests. */
function serverFor(c: Context<App>): Server {
  const principal = c.get("principal");
  const { workspaceId } = principal;
  const visible = () => authorize(principal, "assistants", "search", { metadata: {} });
  const server = new Server({ name: "Weir", version: VERSION }, { capabilities: { tools: { listChanged: false } } });
  server.setRequestHandler("tools/list", async ({ params }) => {
    const offset = Number(params?.cursor ?? 0);
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Unknown cursor.");
    const { tools, more } = await listTools(c.env, workspaceId, offset, await visible());
    return more ? { tools, nextCursor: String(offset + PAGE) } : { tools };
  });
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const assistant = await assistantOfTool(c.env, workspaceId, params.name, await visible());
    if (!assistant)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Unknown tool. List the tools for their names.");
    const by = { env: c.env, principal, configurable: configurableOf(c.req.raw.headers, principal) };
    // One POST of 2025-03-26 may have several calls.
    const run = { id: idempotentId(c, String(mcpReq.id)), keepUntil: c.get("idempotency")?.ends };
    try {
      return await callAssistant(by, assistant, params.arguments ?? {}, run, mcpReq.signal);
    } catch (error) {
      const { status, detail } = toProblem(error);
      if (status >= 500) c.set("serverFault", true);
      throw new ProtocolError(status < 500 ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError, detail);
    }
  });
  return server;
}

/** The transport requires both media types; a client that takes one of them is served with that one. */
async function answer(c: Context<App>): Promise<Response> {
  const accepted = c.req.header("accept") ?? "*/*";
  const takesJson = /application\/(json|\*)|\*\/\*/i.test(accepted);
  if (!takesJson && !/text\/(event-stream|\*)/i.test(accepted)) {
    throw new Problem(400, "Accept must hold application/json or text/event-stream.");
  }
  const headers = new Headers(c.req.raw.headers);
  headers.set("accept", "application/json, text/event-stream");
  const body = await readBody(c.req.raw, BODY_LIMIT);
  const message = decodeJson(body);
  if (nestsDeeper(message)) throw new Problem(422, `Invalid body: nests deeper than ${NESTING} levels.`);
  const request = new Request(c.req.url, { method: "POST", headers, body });
  if (!(await isLegacyRequest(request, message))) return answerModern(c, request, message, takesJson);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: takesJson });
  await serverFor(c).connect(transport);
  // Without a parsed message, the transport reports the error of the body.
  return transport.handleRequest(request, { parsedBody: message });
}

/** From 2026-07-28 on: a request says its version itself. Tools announce no changes, so there is nothing to subscribe to. */
async function answerModern(
  c: Context<App>,
  request: Request,
  parsedBody: unknown,
  takesJson: boolean,
): Promise<Response> {
  const handler = createMcpHandler(() => serverFor(c), {
    legacy: "reject",
    responseMode: takesJson ? "auto" : "sse",
    maxSubscriptions: 0,
  });
  return handler.fetch(request, { parsedBody });
}

function refuse(): never {
  throw new Problem(405, "This endpoint is stateless: it takes POST only.", { headers: { allow: "POST" } });
}

export const mcp = new Hono<App>()
  .post("/", doc("Model Context Protocol: initialize, tools/list, tools/call"), (c) => answer(c))
  .get("/", doc("No server-sent stream: 405"), refuse)
  .delete("/", doc("No session to end: 404"), () => {
    throw new Problem(404, "There is no session: this endpoint is stateless.");
  });

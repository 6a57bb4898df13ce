/**
 * Streamable HTTP, stateless: version 2026-07-28, in which each request says its version, and the versions before it, which begin
 * with `initialize`.
 */
import {
  createMcpHandler,
  isLegacyRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { type Context, Hono } from "hono";
import { decodeJson, isObject, NESTING, nestsDeeper } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { BODY_LIMIT, readBody, query } from "../../http/validate.ts";
import { ACCEPTED } from "./follow.ts";
import * as v from "valibot";
import { createDoc, RPC } from "../../http/route.ts";
import { serverFor } from "./server.ts";
import { traceServer } from "./traces/server.ts";

/** The transport requires both media types; a client that takes one of them is served with that one. */
export async function serveMcp(c: Context<App>, make: () => Server): Promise<Response> {
  const accepted = c.req.header("accept") ?? "*/*";
  const takesJson = /application\/(json|\*)|\*\/\*/i.test(accepted);
  const takesStream = /text\/(event-stream|\*)|\*\/\*/i.test(accepted);
  if (!takesJson && !takesStream) {
    throw new Problem(400, "Accept must hold application/json or text/event-stream.");
  }
  const headers = new Headers(c.req.raw.headers);
  headers.set("accept", "application/json, text/event-stream");
  headers.set(ACCEPTED, accepted);
  const body = await readBody(c.req.raw, BODY_LIMIT);
  const message = decodeJson(body);
  if (nestsDeeper(message)) throw new Problem(422, `Invalid body: nests deeper than ${NESTING} levels.`);
  const request = new Request(c.req.url, { method: "POST", headers, body });
  const mode = !takesStream ? "json" : takesJson ? "auto" : "sse";
  if (!(await isLegacyRequest(request, message))) return serveModern(make, request, message, mode);
  // An answer as JSON has no place for notifications.
  const streams = takesStream && (wantsProgress(message) || (namesStream(accepted) && callsTool(message)));
  const enableJsonResponse = takesJson && !streams;
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse });
  await make().connect(transport);
  // Without a parsed message, the transport reports the error of the body.
  return transport.handleRequest(request, { parsedBody: message });
}

const namesStream = (accepted: string): boolean => /\btext\/event-stream\b/i.test(accepted);

/** Whether a graph may write log messages. */
const callsTool = (message: unknown): boolean =>
  [message].flat().some((one) => isObject(one) && one.method === "tools/call");

function wantsProgress(message: unknown): boolean {
  return [message].flat().some((one) => {
    const params = isObject(one) && isObject(one.params) ? one.params : {};
    return isObject(params._meta) && params._meta.progressToken !== undefined;
  });
}

/**
 * From 2026-07-28 on: a request says its version itself. A subscription is acknowledged with what it will be notified about, which is
 * nothing: lists announce no changes.
 */
async function serveModern(
  make: () => Server,
  request: Request,
  parsedBody: unknown,
  responseMode: "auto" | "sse" | "json",
): Promise<Response> {
  return createMcpHandler(make, { legacy: "reject", responseMode }).fetch(request, { parsedBody });
}

// `/mcp` and `/mcp/traces`: the Model Context Protocol. At `/mcp` each assistant is a tool; at `/mcp/traces` the tools are those with
// which a coding agent finds and fixes a failing trace.

const doc = createDoc("MCP");

function refuse(): never {
  throw new Problem(405, "This endpoint is stateless: it takes POST only.", { headers: { allow: "POST" } });
}

const noStream = doc("No server-sent stream: 405");
const noSession = doc("No session to end: 404");

function refuseDelete(): never {
  throw new Problem(404, "There is no session: this endpoint is stateless.");
}

/** The tools that write are for those who opt in with the address of their connection. */
const TracesQuery = v.object({ write: v.optional(v.picklist(["true", "false"]), "false") });

export const mcp = new Hono<App>()
  .post("/", doc("Model Context Protocol: tools, resources, prompts, completion", { ...RPC, 202: {} }), (c) =>
    serveMcp(c, () => serverFor(c)),
  )
  .get("/", noStream, refuse)
  .delete("/", noSession, refuseDelete)
  .post(
    "/traces",
    doc("Model Context Protocol: traces, threads and experiments for coding agents", { ...RPC, 202: {} }),
    query(TracesQuery),
    (c) => serveMcp(c, () => traceServer(c, c.req.valid("query").write === "true")),
  )
  .get("/traces", noStream, refuse)
  .delete("/traces", noSession, refuseDelete);

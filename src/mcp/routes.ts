/**
 * `/mcp` and `/mcp/traces`: the Model Context Protocol. At `/mcp` each assistant is a tool; at `/mcp/traces` the tools are those with
 * which a coding agent finds and fixes a failing trace.
 */
import { Hono } from "hono";
import * as v from "valibot";
import { createDoc, RPC } from "../http/route.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { query } from "../http/validate.ts";
import { serverFor } from "../protocols/mcp/server.ts";
import { traceServer } from "../protocols/mcp/traces/server.ts";
import { answerMcp } from "../protocols/mcp/routes.ts";

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
    answerMcp(c, () => serverFor(c)),
  )
  .get("/", noStream, refuse)
  .delete("/", noSession, refuseDelete)
  .post(
    "/traces",
    doc("Model Context Protocol: traces, threads and experiments for coding agents", { ...RPC, 202: {} }),
    query(TracesQuery),
    (c) => answerMcp(c, () => traceServer(c, c.req.valid("query").write === "true")),
  )
  .get("/traces", noStream, refuse)
  .delete("/traces", noSession, refuseDelete);

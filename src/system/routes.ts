/** Information about the deployment: `/ok` and `/info` are public, `/metrics` is for a workspace. */
import * as v from "valibot";
import { Hono } from "hono";
import { audit } from "../access/audit/record.ts";
import { isOpen } from "../access/auth/authenticate.ts";
import { createDoc, eitherBody, json, media } from "../http/route.ts";
import { Flag } from "../http/shapes.ts";
import type { App } from "../http/context.ts";
import { Problem } from "../lib/problem.ts";
import { body, query } from "../http/validate.ts";
import { createVectorSearch } from "../agents/memory/vectors.ts";
import { Truncate, truncate } from "./housekeeping.ts";
import { Info, info } from "./info.ts";
import { measure, Metric, prometheus, Usage, usage, UsageQuery } from "./metrics.ts";

const doc = createDoc("System");
const Done = v.object({ ok: v.boolean() });

export const system = new Hono<App>()
  .get(
    "/ok",
    doc("Whether the server answers; with check_db=1, whether its database does", Done),
    query(v.object({ check_db: v.optional(Flag, "false") })),
    async (c) => {
      if (c.req.valid("query").check_db) await c.env.DB.prepare("SELECT 1").run();
      return c.json({ ok: true });
    },
  )
  .on("GET", ["/info", "/api/v1/info"], doc("Versions, flags and limits", Info), (c) =>
    c.json(info(createVectorSearch(c.env) ? "semantic" : "text", Boolean(c.env.OPENAI_API_KEY))),
  )
  .get(
    "/metrics",
    doc("The workspace's figures, for Prometheus or as JSON", {
      200: eitherBody(media("text/plain"), json(v.array(Metric))),
    }),
    query(v.object({ format: v.optional(v.picklist(["prometheus", "json"]), "prometheus") })),
    async (c) => {
      const metrics = await measure(c.env, c.get("principal").workspaceId, Date.now());
      if (c.req.valid("query").format === "json") return c.json(metrics);
      return c.text(prometheus(metrics), 200, { "content-type": "text/plain; version=0.0.4; charset=utf-8" });
    },
  )
  .get(
    "/api/v1/usage",
    doc("What the workspace holds: traces by day and project, threads, assistants, Store items", Usage),
    query(UsageQuery),
    async (c) => c.json(await usage(c.env, c.get("principal").workspaceId, c.req.valid("query"), Date.now())),
  )
  .post(
    "/internal/truncate",
    doc("Delete the named kinds of data from the workspace (only on localhost, with AUTH=open)", Done),
    body(Truncate),
    async (c) => {
      if (!isOpen(c.req.raw, c.env)) throw new Problem(404, `No route ${c.req.method} ${c.req.path}.`);
      await audit(c, {
        action: "workspace.emptied",
        targetId: c.get("principal").workspaceId,
        detail: c.req.valid("json"),
      });
      await truncate(c.env, c.get("principal").workspaceId, c.req.valid("json"));
      return c.json({ ok: true });
    },
  );

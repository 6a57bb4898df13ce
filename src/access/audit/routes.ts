/** The audit trail: `GET /api/v1/audit-log`. */
import { Hono } from "hono";
import * as v from "valibot";
import { type Database, database } from "../../db/client.ts";
import { cutPage, pagingQuery } from "../../http/shapes.ts";
import { createDoc, eitherBody, json, media } from "../../http/route.ts";
import type { App } from "../../http/context.ts";
import { query } from "../../http/validate.ts";
import { chain, toWireEntry } from "./chain.ts";
import { audit } from "./record.ts";
import { type AuditFilter, listAudit, nextAudit, type AuditPosition } from "./store.ts";
import { Entry } from "./wire.ts";

const Moment = v.pipe(
  v.string(),
  v.isoTimestamp("must be a time such as 2027-01-31T00:00:00Z"),
  v.transform((text) => Date.parse(text)),
);

const AuditLogQuery = v.object({
  ...pagingQuery(1000),
  action: v.optional(v.pipe(v.string(), v.maxLength(100))),
  after: v.optional(Moment),
  before: v.optional(Moment),
  /** `ndjson`: all entries, one a line, without paging. */
  format: v.optional(v.picklist(["json", "ndjson"]), "json"),
});

export const auditTrail = new Hono<App>().get(
  "/audit-log",
  createDoc("Workspaces and keys")("Sign-ins and changes, newest first; with format=ndjson all of them, one a line", {
    200: eitherBody(json(v.array(Entry)), media("application/x-ndjson")),
  }),
  query(AuditLogQuery),
  async (c) => {
    const { limit, offset, action, after, before, format } = c.req.valid("query");
    const { workspaceId, kind } = c.get("principal");
    const filter = { workspaceId, deployment: kind === "admin", action, after, before };
    const db = database(c.env.DB);
    if (format === "ndjson") {
      await audit(c, { action: "audit_log.exported", targetId: workspaceId });
      await chain(db, workspaceId);
      if (filter.deployment) await chain(db, null);
      return new Response(streamLines(db, filter), {
        headers: {
          "content-type": "application/x-ndjson",
          "content-disposition": 'attachment; filename="audit-log.ndjson"',
          "cache-control": "no-store",
        },
      });
    }
    const rows = await listAudit(db, filter, { limit: limit + 1, offset });
    const { items, headers } = cutPage(rows, limit, offset);
    return c.json(items.map(toWireEntry), 200, headers);
  },
);

const LINES_AT_ONCE = 500;

/** All entries as JSON lines. A page is read when the reader has taken the one before. */
function streamLines(db: Database, filter: AuditFilter): ReadableStream<Uint8Array> {
  let position: AuditPosition | undefined;
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const rows = await nextAudit(db, filter, LINES_AT_ONCE, position);
    position = rows.at(-1);
    const text = rows.map((row) => `${JSON.stringify(toWireEntry(row))}\n`).join("");
    if (text) controller.enqueue(new TextEncoder().encode(text));
    if (rows.length < LINES_AT_ONCE) controller.close();
  };
  return new ReadableStream({ pull }, { highWaterMark: 0 });
}

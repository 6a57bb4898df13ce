/** The audit trail: `GET /api/v1/audit-log`. */
import { Hono } from "hono";
import * as v from "valibot";
import { database } from "../db/client.ts";
import { documented } from "../http/documented.ts";
import { pagingQuery } from "../http/fields.ts";
import { page } from "../http/paging.ts";
import type { App } from "../http/types.ts";
import { query } from "../http/validate.ts";
import { type AuditRow, listAudit } from "./store.ts";

const AuditLogQuery = v.object({
  ...pagingQuery(1000),
  action: v.optional(v.pipe(v.string(), v.maxLength(100))),
});

const shown = ({ id, at, actorKind, actorId, action, targetId, detail, address, userAgent }: AuditRow) => ({
  id,
  at: new Date(at).toISOString(),
  actor: { kind: actorKind, id: actorId },
  action,
  target_id: targetId,
  detail,
  address,
  user_agent: userAgent,
});

export const auditTrail = new Hono<App>().get(
  "/audit-log",
  documented("Workspaces and keys")("Changes of keys, clients, grants and destinations, newest first"),
  query(AuditLogQuery),
  async (c) => {
    const { limit, offset, action } = c.req.valid("query");
    const { workspaceId, kind } = c.get("principal");
    const rows = await listAudit(database(c.env.DB), {
      workspaceId,
      deployment: kind === "admin",
      action,
      limit: limit + 1,
      offset,
    });
    const { items, headers } = page(rows, limit, offset);
    return c.json(items.map(shown), 200, headers);
  },
);

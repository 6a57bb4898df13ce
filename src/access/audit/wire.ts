/** Entries of the audit log on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { Count, Time } from "../../http/shapes.ts";

export const Entry = v.pipe(
  v.object({
    id: v.string(),
    workspace_id: v.nullable(v.string()),
    at: Time,
    actor: v.object({ kind: v.string(), id: v.string() }),
    action: v.string(),
    target_id: v.string(),
    detail: v.unknown(),
    address: v.nullable(v.string()),
    user_agent: v.nullable(v.string()),
    seq: v.nullable(Count),
    prev_hash: v.nullable(v.string()),
    hash: v.nullable(v.string()),
  }),
  v.title("AuditEntry"),
);
export type Entry = v.InferOutput<typeof Entry>;

import type { AuditEntryWire } from "./entry.ts";
import type { AuditRow } from "../access/audit/store.ts";

export function toWireEntry(row: AuditRow): AuditEntryWire {
  return {
    id: row.id,
    workspace_id: row.workspaceId,
    at: new Date(row.at).toISOString(),
    actor: { kind: row.actorKind, id: row.actorId },
    action: row.action,
    target_id: row.targetId,
    detail: row.detail,
    address: row.address,
    user_agent: row.userAgent,
    seq: row.seq,
    prev_hash: row.prevHash,
    hash: row.hash,
  };
}

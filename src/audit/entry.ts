/** The chain of the audit trail: what each entry's hash is made of. Pure, for the server and for `weir audit verify`. */
import { createHash } from "node:crypto";

/** The first entry of a chain follows this. */
export const GENESIS = "0".repeat(64);
const FORMAT = "weir-audit-1";

/** An entry as exports have it, one a line. */
export interface AuditEntryWire {
  id: string;
  /** Null: the entry belongs to the deployment. */
  workspace_id: string | null;
  at: string;
  actor: { kind: string; id: string };
  action: string;
  target_id: string;
  detail: unknown;
  address: string | null;
  user_agent: string | null;
  /** The place in the chain of its workspace, from 1 on. Null: not chained yet. */
  seq: number | null;
  /** The hash of the entry before. */
  prev_hash: string | null;
  hash: string | null;
}

/** A day's root, as the bucket has it. */
export interface AuditRoot {
  workspace_id: string | null;
  day: string;
  seq: number;
  hash: string;
}

/** SHA-256 over the entry, its place and the hash of the one before: no part of these can change alone. */
export function hashOfEntry(
  entry: Omit<AuditEntryWire, "seq" | "prev_hash" | "hash">,
  seq: number,
  before: string,
): string {
  const { workspace_id, id, at, actor, action, target_id, detail, address, user_agent } = entry;
  const said = [id, at, actor.kind, actor.id, action, target_id, detail, address, user_agent];
  const text = JSON.stringify([FORMAT, workspace_id, seq, before, ...said]);
  return createHash("sha256").update(text).digest("hex");
}

/**
 * Puts new entries of the audit trail into the chains of their workspaces. An entry is written by one statement, without a
 * hash: so no request waits for another, and none is lost. The chain follows within a minute, and before each export.
 */
import { type AuditEntryWire, GENESIS, hashOfEntry, type AuditRoot } from "./verify.ts";
import {
  type AuditRow,
  type ChainLink,
  readUnchained,
  unchainedWorkspaces,
  writeLinks,
  hasRoots,
  markWritten,
  noteRoots,
  type RootRow,
  unwrittenRoots,
} from "./store.ts";
import type { Database } from "../../db/client.ts";
import { isTaken } from "../../db/writes.ts";
import { logError } from "../../lib/log.ts";

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

const AT_ONCE = 200;
/** D1 allows 1,000 queries an invocation. */
const BATCHES = 100;
const WORKSPACES = 100;

/** Chains what is not chained yet: at most 20,000 entries in one call. */
export async function chainAll(db: Database): Promise<void> {
  let left = BATCHES;
  for (const workspaceId of await unchainedWorkspaces(db, WORKSPACES)) {
    left -= await chain(db, workspaceId, left);
    if (left <= 0) return;
  }
}

/**
 * Chains the entries of a workspace. Returns the number of batches. Two calls at the same time read the same end or one
 * that the other made, and the places are unique: a chain has no fork.
 */
export async function chain(db: Database, workspaceId: string | null, batches = BATCHES): Promise<number> {
  for (let batch = 1; batch <= batches; batch++) {
    const { head, rows } = await readUnchained(db, workspaceId, AT_ONCE);
    if (rows.length === 0) return batch;
    try {
      await writeLinks(db, linksAfter(head, rows));
    } catch (error) {
      // Another call was faster. What it left is read again.
      if (!isTaken(error)) throw error;
      continue;
    }
    if (rows.length < AT_ONCE) return batch;
  }
  return batches;
}

function linksAfter(head: { seq: number; hash: string } | undefined, rows: AuditRow[]): ChainLink[] {
  let { seq, hash: prevHash } = head ?? { seq: 0, hash: GENESIS };
  return rows.map((row) => {
    seq += 1;
    const hash = hashOfEntry(toWireEntry(row), seq, prevHash);
    const link = { id: row.id, seq, prevHash, hash };
    prevHash = hash;
    return link;
  });
}

// The daily roots of the audit trail, in the exports' bucket: what a chain is verified from.

const DAY_MS = 24 * 3_600_000;
/** Days whose roots are made late, after an outage. */
const DAYS_BACK = 7;

/** The object of a root: `audit-roots/<workspace id, or deployment>/<day>.json`. */
export const rootKey = ({ workspaceId, day }: Pick<RootRow, "workspaceId" | "day">): string =>
  `audit-roots/${workspaceId || "deployment"}/${day}.json`;

/**
 * Notes the roots of the days that have ended, then writes those that the bucket does not have. Each step can be repeated:
 * a root that is noted does not change, and one that is written is never replaced.
 */
export async function storeRoots(db: Database, bucket: R2Bucket, now: number): Promise<void> {
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  for (let back = DAYS_BACK; back >= 1; back--) {
    const start = today - back * DAY_MS;
    const day = new Date(start).toISOString().slice(0, 10);
    // Entries of yesterday that were chained late may be the first of their workspace.
    if (back === 1 || !(await hasRoots(db, day))) await noteRoots(db, day, start, start + DAY_MS);
  }
  for (const row of await unwrittenRoots(db, AT_ONCE)) {
    await writeRoot(bucket, row);
    await markWritten(db, row, now);
  }
}

async function writeRoot(bucket: R2Bucket, row: RootRow): Promise<void> {
  const { workspaceId, day, seq, hash } = row;
  const root: AuditRoot = { workspace_id: workspaceId || null, day, seq, hash };
  const text = `${JSON.stringify(root)}\n`;
  const key = rootKey(row);
  const options = { onlyIf: { etagDoesNotMatch: "*" }, httpMetadata: { contentType: "application/json" } };
  if (await bucket.put(key, text, options)) return;
  const held = await (await bucket.get(key))?.text();
  if (held !== text) logError(new Error("The bucket has another root of the audit trail."), { key, held, noted: text });
}

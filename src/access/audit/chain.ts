/**
 * Puts new entries of the audit trail into the chains of their workspaces. An entry is written by one statement, without a
 * hash: so no request waits for another, and none is lost. The chain follows within a minute, and before each export.
 */
import type { Database } from "../../db/client.ts";
import { isTaken } from "../../db/writes.ts";
import { type Link, readUnchained, unchainedWorkspaces, writeLinks } from "../../audit/chain-store.ts";
import { GENESIS, hashOfEntry } from "../../audit/entry.ts";
import type { AuditRow } from "./store.ts";
import { toWireEntry } from "../../audit/wire.ts";

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

function linksAfter(head: { seq: number; hash: string } | undefined, rows: AuditRow[]): Link[] {
  let { seq, hash: prevHash } = head ?? { seq: 0, hash: GENESIS };
  return rows.map((row) => {
    seq += 1;
    const hash = hashOfEntry(toWireEntry(row), seq, prevHash);
    const link = { id: row.id, seq, prevHash, hash };
    prevHash = hash;
    return link;
  });
}

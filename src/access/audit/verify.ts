/** Verifies exported entries of the audit trail and the daily roots, without a server. */
import { type AuditEntryWire, type AuditRoot, GENESIS, hashOfEntry } from "../../audit/entry.ts";

export interface Verified {
  /** Null: the deployment's own entries. */
  workspaceId: string | null;
  entries: number;
  first: number;
  last: number;
  /** How many roots are in the chain. */
  roots: number;
  /** What is wrong, in words. Empty: nothing. */
  faults: string[];
}

type Chained = AuditEntryWire & { seq: number };

/**
 * One result for each chain of the export. Each entry must have its own hash and follow the one before; each root must be
 * the hash of its entry. The old end of the deployment's own chain may be missing when a root says what came before.
 */
export function verifyAudit(entries: AuditEntryWire[], roots: AuditRoot[]): Verified[] {
  const chains = Map.groupBy(entries, ({ workspace_id }) => workspace_id);
  const anchors = Map.groupBy(roots, ({ workspace_id }) => workspace_id);
  return [...chains].map(([workspaceId, own]) => verifyChain(workspaceId, own, anchors.get(workspaceId) ?? []));
}

function verifyChain(workspaceId: string | null, all: AuditEntryWire[], roots: AuditRoot[]): Verified {
  const faults: string[] = [];
  const chained = all.filter((entry): entry is Chained => entry.seq !== null);
  if (chained.length < all.length)
    faults.push(`${all.length - chained.length} entries are not chained yet: export again`);
  const entries = chained.toSorted((a, b) => a.seq - b.seq);
  const [first, last] = [entries[0], entries.at(-1)];
  for (const [place, entry] of entries.entries()) faults.push(...faultsOfEntry(entry, entries[place - 1]));
  const hashes = new Map(entries.map(({ seq, hash }) => [seq, hash]));
  if (first?.prev_hash) hashes.set(first.seq - 1, first.prev_hash);
  // The server deletes the old end of the deployment's own chain only.
  const isWhole = first === undefined || first.seq === 1;
  if (!isWhole && workspaceId !== null) faults.push(`entries 1 to ${first.seq - 1} are missing`);
  let anchored = isWhole || workspaceId !== null;
  let known = 0;
  for (const { day, seq, hash } of roots) {
    if (first && seq < first.seq - 1) continue;
    const held = hashes.get(seq);
    if (held === undefined) faults.push(`the root of ${day} says that there is an entry ${seq}: it is missing`);
    else if (held !== hash) faults.push(`entry ${seq} is not the one that the root of ${day} says`);
    else {
      known += 1;
      anchored = true;
    }
  }
  if (!anchored) faults.push(`entries before ${first?.seq} are missing, and no root says what they were`);
  return { workspaceId, entries: all.length, first: first?.seq ?? 0, last: last?.seq ?? 0, roots: known, faults };
}

function faultsOfEntry(entry: Chained, before: Chained | undefined): string[] {
  const { seq, prev_hash, hash, id } = entry;
  if (before && before.seq === seq) return [`entry ${seq} is there twice`];
  if (before && before.seq !== seq - 1) return [`entries ${before.seq + 1} to ${seq - 1} are missing`];
  if (before ? before.hash !== prev_hash : seq === 1 && prev_hash !== GENESIS)
    return [`entry ${seq} (${id}) does not follow the one before`];
  return hashOfEntry(entry, seq, prev_hash ?? "") === hash ? [] : [`entry ${seq} (${id}) was changed`];
}

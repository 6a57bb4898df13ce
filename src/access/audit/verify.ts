/** Verifies exported entries of the audit trail and the daily roots, without a server. */
import { createHash } from "node:crypto";

// The chain of the audit trail: what each entry's hash is made of. Pure, for the server and for `weir audit verify`.

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

export interface ChainVerification {
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

type ChainedEntry = AuditEntryWire & { seq: number };

/**
 * One result for each chain of the export. Each entry must have its own hash and follow the one before; each root must be
 * the hash of its entry. The old end of the deployment's own chain may be missing when a root says what came before.
 */
export function verifyAudit(entries: AuditEntryWire[], roots: AuditRoot[]): ChainVerification[] {
  const chains = Map.groupBy(entries, ({ workspace_id }) => workspace_id);
  const anchors = Map.groupBy(roots, ({ workspace_id }) => workspace_id);
  return [...chains].map(([workspaceId, own]) => verifyChain(workspaceId, own, anchors.get(workspaceId) ?? []));
}

function verifyChain(workspaceId: string | null, all: AuditEntryWire[], roots: AuditRoot[]): ChainVerification {
  const faults: string[] = [];
  const chained = all.filter((entry): entry is ChainedEntry => entry.seq !== null);
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

function faultsOfEntry(entry: ChainedEntry, before: ChainedEntry | undefined): string[] {
  const { seq, prev_hash, hash, id } = entry;
  if (before && before.seq === seq) return [`entry ${seq} is there twice`];
  if (before && before.seq !== seq - 1) return [`entries ${before.seq + 1} to ${seq - 1} are missing`];
  if (before ? before.hash !== prev_hash : seq === 1 && prev_hash !== GENESIS)
    return [`entry ${seq} (${id}) does not follow the one before`];
  return hashOfEntry(entry, seq, prev_hash ?? "") === hash ? [] : [`entry ${seq} (${id}) was changed`];
}

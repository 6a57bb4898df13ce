/** The daily roots of the audit trail, in the exports' bucket: what a chain is verified from. */
import type { Database } from "../db/client.ts";
import { logError } from "../lib/log.ts";
import { hasRoots, markWritten, noteRoots, type RootRow, unwrittenRoots } from "./chain-store.ts";
import type { AuditRoot } from "./entry.ts";

const DAY_MS = 24 * 3_600_000;
/** Days whose roots are made late, after an outage. */
const DAYS_BACK = 7;
const AT_ONCE = 200;

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

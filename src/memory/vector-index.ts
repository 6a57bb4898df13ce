/**
 * A Vectorize index beside the vectors in D1. It only proposes items: D1 holds the vectors, decides what a caller sees and
 * ranks exactly, so a late, incomplete or unavailable index changes the number of reads, but no answer.
 */
import { logError } from "../lib/log.ts";

/** The part of the platform's `Vectorize` binding that is used. */
export interface VectorIndex {
  query(vector: number[], options: { topK: number; namespace: string }): Promise<{ matches: { id: string }[] }>;
  upsert(vectors: { id: string; values: number[]; namespace: string }[]): Promise<unknown>;
  deleteByIds(ids: string[]): Promise<unknown>;
}

/** The most that Vectorize gives without values and metadata. */
const TOP_K = 100;
/** The most vectors in one call of a Worker. */
const BATCH = 1_000;

export interface IndexedItem {
  id: number;
  vectors: number[][];
}

const vectorId = (item: number, n: number) => `${item}:${n}`;

/** Writes the vectors of items to the index. The write in D1 is valid also when this fails. */
export async function indexItems(index: VectorIndex, workspaceId: string, items: IndexedItem[]): Promise<void> {
  const all = items.flatMap(({ id, vectors }) =>
    vectors.map((values, n) => ({ id: vectorId(id, n), values, namespace: workspaceId })),
  );
  for (let at = 0; at < all.length; at += BATCH) {
    await logFailure("writing to Vectorize", () => index.upsert(all.slice(at, at + BATCH)));
  }
}

/** The ids of the index's vectors by the item they belong to: those nearest to `target`. Undefined where it does not answer. */
export async function queryIndex(
  index: VectorIndex,
  workspaceId: string,
  target: number[],
): Promise<Map<number, string[]> | undefined> {
  const found = await logFailure("asking Vectorize", () =>
    index.query(target, { topK: TOP_K, namespace: workspaceId }),
  );
  if (!found) return undefined;
  const byItem = new Map<number, string[]>();
  for (const { id } of found.matches) {
    const item = Number.parseInt(id, 10);
    byItem.set(item, [...(byItem.get(item) ?? []), id]);
  }
  return byItem;
}

/** Takes vectors out of the index whose items are deleted or expired: no deletion waits for the index. */
export async function removeVectors(index: VectorIndex, ids: string[]): Promise<void> {
  if (ids.length > 0) await logFailure("deleting from Vectorize", () => index.deleteByIds(ids));
}

async function logFailure<T>(what: string, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    logError(error, { while: what });
    return undefined;
  }
}

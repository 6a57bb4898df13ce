/** The thread index of a workspace over all its shards. A workspace has one shard until that is full. */
import { loadRing, withRing } from "../../access/encryption/keys.ts";
import { openListed, sealJson, isSealed, type Ring } from "../../access/encryption/ring.ts";
import { remoteProblem } from "../../lib/problem.ts";
import type { Json } from "../../lib/json.ts";
import { type IndexRow, type ThreadFilter, indexShard, type RowVersion, type SortBy, type ThreadPage } from "./rpc.ts";

// Rows of the thread index in a workspace that encrypts: what was said is sealed, what is searched stays readable.

type SealedTexts = Pick<IndexRow, "config" | "values" | "interrupts" | "error">;

const rowContext = (id: string) => ["thread index", id];

/** The row as the index may hold it. */
export function sealRow(ring: Ring, row: IndexRow): IndexRow {
  if (!ring.isOn) return row;
  const { config, values, interrupts, error } = row;
  const sealed = sealJson<Json>(ring, { config, values, interrupts, error } satisfies SealedTexts, rowContext(row.id));
  return { ...row, config: {}, values: null, interrupts: sealed, error: null };
}

/** Rows as they were sealed. One whose key is destroyed has no values, and an error that says so. */
export async function openRows(env: Env, workspaceId: string, rows: IndexRow[]): Promise<IndexRow[]> {
  if (!rows.some(isSealedRow)) return rows;
  return withRing(env, workspaceId, (ring) => rows.map((row) => (isSealedRow(row) ? openRow(ring, row) : row)));
}

const isSealedRow = ({ interrupts }: IndexRow) => isSealed(interrupts.sealed);

function openRow(ring: Ring, row: IndexRow): IndexRow {
  const said = openListed(ring, row.interrupts, rowContext(row.id)) as SealedTexts | undefined;
  if (said) return { ...row, ...said };
  const message = "The thread was encrypted with a key that has been destroyed.";
  return { ...row, hasValues: false, interrupts: {}, error: { error: "KeyDestroyed", message } };
}

/** 422 for a filter on values in a workspace that encrypts: an answer without the encrypted threads would look complete. */
export async function requireSearchable(env: Env, workspaceId: string, { values = {} }: ThreadFilter): Promise<void> {
  if (Object.keys(values).length === 0) return;
  if (!(await loadRing(env, workspaceId)).isOn) return;
  throw remoteProblem(
    422,
    "This workspace encrypts the states of its threads, so they cannot be searched by values. Search by metadata.",
  );
}

/** The shard for new threads of a workspace, as last read by this isolate. */
const current = new Map<string, number>();

export const currentShard = (workspaceId: string): number => current.get(workspaceId) ?? 0;

/** Writes a thread's row in its shard, sealed with these keys; 409 when a newer one is there. */
export async function putThread(
  env: Env,
  workspaceId: string,
  { shard = 0, row, ring }: { shard?: number; row: IndexRow; ring: Ring },
): Promise<void> {
  const next = await indexShard(env, workspaceId, shard).put(sealRow(ring, row));
  if (next > currentShard(workspaceId)) current.set(workspaceId, next);
}

/** Removes a thread's row. */
export async function removeThread(env: Env, workspaceId: string, id: string): Promise<void> {
  await askShards(env, workspaceId, async (shard) => shard.remove([{ id }]));
}

/** Removes rows that have not been written since they were read. */
export async function removeRows(env: Env, workspaceId: string, rows: RowVersion[]): Promise<void> {
  if (rows.length > 0) await askShards(env, workspaceId, async (shard) => shard.remove(rows));
}

/** The ids of threads by filter, in their order, from `offset` on; one more than `limit`, for paging. */
export async function threadIds(
  env: Env,
  workspaceId: string,
  { limit, offset, ...filter }: ThreadFilter & { limit: number; offset: number },
): Promise<RowVersion[]> {
  await requireSearchable(env, workspaceId, filter);
  const found = await askShards(env, workspaceId, async (shard) => shard.ids(filter, offset + limit + 1, 0));
  return found
    .flat()
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .slice(offset, offset + limit + 1);
}

/** Rows by filter; one more than `limit`, for paging. A filter on values finds no state that is too large for the index. */
export async function searchThreads(
  env: Env,
  workspaceId: string,
  { limit, offset, ...page }: ThreadPage,
): Promise<IndexRow[]> {
  await requireSearchable(env, workspaceId, page);
  const [only, ...others] = await askShards(env, workspaceId, async (shard, shards) =>
    shards === 1
      ? shard.search({ ...page, limit: limit + 1, offset })
      : shard.search({ ...page, limit: offset + limit + 1, offset: 0 }),
  );
  if (others.length === 0) return openRows(env, workspaceId, only ?? []);
  const before = compareBy(page.sortBy);
  const all = [only ?? [], ...others].flat().sort((a, b) => (page.sortOrder === "asc" ? before(a, b) : before(b, a)));
  return openRows(env, workspaceId, all.slice(offset, offset + limit + 1));
}

/** How many rows a search would find. */
export async function countThreads(env: Env, workspaceId: string, filter: ThreadFilter): Promise<number> {
  await requireSearchable(env, workspaceId, filter);
  const counts = await askShards(env, workspaceId, async (shard) => shard.count(filter));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** How many threads have each status. */
export async function countByStatus(env: Env, workspaceId: string): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const counts of await askShards(env, workspaceId, async (shard) => shard.countByStatus())) {
    for (const [status, count] of Object.entries(counts)) sums[status] = (sums[status] ?? 0) + count;
  }
  return sums;
}

/** How many shards the workspace's index has. */
export const readShards = async (env: Env, workspaceId: string): Promise<number> =>
  indexShard(env, workspaceId, 0).shards();

/** What changed in one shard (see `ThreadIndexRpc.changes`). */
export const readChanges = async (env: Env, workspaceId: string, shard: number, after: string | undefined) =>
  indexShard(env, workspaceId, shard).changes(after);

type ShardState = ReturnType<typeof indexShard>;

/**
 * Calls every shard. Nearly every workspace has one shard, so its part and the number of shards are read in one call.
 */
async function askShards<T>(
  env: Env,
  workspaceId: string,
  ask: (shard: ShardState, shards: number) => Promise<T>,
): Promise<T[]> {
  const first = indexShard(env, workspaceId, 0);
  const [shards, answer] = await Promise.all([first.shards(), ask(first, 1)]);
  if (shards === 1) return [answer];
  return Promise.all(Array.from({ length: shards }, async (_, n) => ask(indexShard(env, workspaceId, n), shards)));
}

const COLUMNS = {
  thread_id: "id",
  status: "status",
  created_at: "createdAt",
  updated_at: "updatedAt",
  state_updated_at: "stateUpdatedAt",
} as const satisfies Record<SortBy, keyof IndexRow>;

function compareBy(sortBy: SortBy): (a: IndexRow, b: IndexRow) => number {
  const column = COLUMNS[sortBy];
  return (a, b) => (a[column] === b[column] ? (a.id < b.id ? -1 : 1) : a[column] < b[column] ? -1 : 1);
}

/** Stores drafted runs in the partitions of their days: objects to R2 first, then the runs that refer to them. */
import { database } from "../../db/client.ts";
import { tracePartition, blobPrefix } from "../stub.ts";
import type { PartitionIdentity, RunWrite } from "../types.ts";
import { toListed } from "../review/feedback/create.ts";
import { moveFeedbackLocation } from "../review/feedback/store.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { EARLY, lookupIds, isClosed, listShards, findTraceId, MAX_SHARDS } from "../locate.ts";
import { findOutage } from "../../lib/retry.ts";
import { openSealedBlobs } from "../../access/encryption/blobs.ts";
import { loadRing } from "../../access/encryption/keys.ts";
import { isProjectNotFound } from "../projects/resolve.ts";
import { weighWrite } from "../limits.ts";
import type { RunDraft } from "./normalise.ts";
import type { RunOperation } from "./operations.ts";
import { type PayloadBlob, copyBlobs, placePayloads, putBlob } from "./payloads.ts";

// Feedback that came before its run, to the shard that takes the run. It is taken there, then D1 names that shard, then it is
// removed here. A move that stops in between is repeated with the next write of the run, and at each point D1 names a shard that has it.

/** Feedback per RPC, as in review/feedback/create.ts. */
const AT_ONCE = 50;

/** Moves these feedbacks of a shard. `findShard` gives the shard that takes a run. */
export async function moveFeedback(
  env: Env,
  from: PartitionIdentity,
  ids: string[],
  findShard: (runId: string) => number | undefined,
): Promise<void> {
  const { workspaceId, projectId, day } = from;
  const here = tracePartition(env, workspaceId, from);
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    for (const feedback of await here.getFeedback(ids.slice(at, at + AT_ONCE))) {
      const shard = findShard(feedback.run_id ?? "");
      if (shard === undefined || shard === from.shard) continue;
      const place = { ...from, shard };
      if (await tracePartition(env, workspaceId, place).takeFeedback(place, feedback)) {
        await moveFeedbackLocation(database(env.DB), { workspaceId, projectId, day, shard, ...toListed(feedback) });
        await here.handOver(feedback);
      } else await here.deleteFeedback(feedback.id);
    }
  }
}

// Which shard of a day takes each run (traces/locate.ts).

/** A project's day. */
export type Day = Omit<PartitionIdentity, "shard">;

/**
 * The number of shards of the days that have more than one, as cached by this isolate. A partition corrects a caller
 * with a smaller number, so ingest needs no query to D1 for it.
 */
const grown = new Map<string, number>();
const MAX_KNOWN = 10_000;

const dayKey = ({ workspaceId, projectId, day }: Day) => `${workspaceId}/${projectId}/${day}`;

export function shardsKnown(day: Day): number {
  return grown.get(dayKey(day)) ?? 1;
}

export function noteShards(day: Day, shards: number): void {
  if (shards <= shardsKnown(day)) return;
  if (grown.size >= MAX_KNOWN) grown.clear();
  grown.set(dayKey(day), shards);
}

interface Item {
  draft: { write: RunWrite };
  shard?: number;
}

/**
 * The items by the shard that takes them. Shards of older generations return which of the ids they hold; this call
 * closes them.
 */
export async function placeItems<T extends Item>(
  env: Env,
  day: Day,
  items: T[],
  shards: number,
): Promise<Map<number, T[]>> {
  const candidates = new Map(items.map((item) => [item, candidateShards(item, shards)]));
  const asked = new Map<number, { ids: Set<string>; traces: Set<string> }>();
  for (const [{ draft }, own] of candidates) {
    for (const shard of own.length > 1 ? own : []) {
      if (!isClosed(shard, shards) && draft.write.trace_id !== undefined) continue;
      const wanted = asked.get(shard) ?? { ids: new Set(), traces: new Set() };
      asked.set(shard, wanted);
      for (const id of lookupIds(draft.write)) wanted.ids.add(id);
      const trace = findTraceId(draft.write);
      if (trace !== undefined) wanted.traces.add(trace);
    }
  }
  const answers = await inParallel(asked, CONNECTIONS, async ([shard, { ids, traces }]) => {
    const place = { ...day, shard };
    const held = await tracePartition(env, day.workspaceId, place).holds(place, shards, [...ids], [...traces]);
    return [shard, new Set(held)] as const;
  });
  const held = new Map(answers);
  const found = Map.groupBy(items, (item) => {
    const own = candidates.get(item) ?? [0];
    const ids = lookupIds(item.draft.write);
    return own.find((shard) => ids.some((id) => held.get(shard)?.has(id))) ?? (own.at(-1) as number);
  });
  await moveEarly(env, day, held, found);
  return found;
}

/** Moves feedback that is in another shard than its run will be. */
async function moveEarly<T extends Item>(
  env: Env,
  day: Day,
  held: Map<number, Set<string>>,
  found: Map<number, T[]>,
): Promise<void> {
  const shardById = new Map([...found].flatMap(([shard, own]) => own.map(({ draft }) => [draft.write.id, shard])));
  for (const [shard, ids] of held) {
    const early = [...ids].flatMap((id) => (id.startsWith(EARLY) ? [id.slice(EARLY.length)] : []));
    if (early.length > 0) await moveFeedback(env, { ...day, shard }, early, (runId) => shardById.get(runId));
  }
}

/** The shards that can hold a run, oldest generation first. The last one takes it when no other holds it. */
function candidateShards({ draft: { write }, shard }: Item, shards: number): number[] {
  if (shard !== undefined) return [shard];
  if (write.trace_id !== undefined) return listShards(write.trace_id, shards);
  // A run without a trace id is with its parent, which can be in any shard.
  const newest = listShards(write.id, shards).at(-1) as number;
  return [...Array.from({ length: shards }, (_, i) => i).filter((one) => one !== newest), newest];
}

/** The most weight of one RPC (`weighWrite`). The platform's limit is 32 MiB. */
const RPC_BYTES = 8 * 1024 * 1024;

/** One operation, as far as it has come. */
export interface Work {
  operation: RunOperation;
  draft: RunDraft;
  /** The shard in which its run was found. */
  shard?: number;
  /** The key of a patch that has waited for its post (waiting.ts). */
  awaited?: string;
  /** The keys of its objects in R2: names below the prefix. */
  blobs?: { prefix: string; names: string[] };
}

export interface Group {
  day: Day;
  work: Work[];
}

/**
 * Stores the operations of each day. A shard may refuse a run, and the run then goes to another. Returns the operations whose
 * project was deleted.
 */
export async function storeGroups(env: Env, groups: Group[], batched: boolean): Promise<Work[]> {
  const gone: Work[] = [];
  const unlessGone = async <T>(work: Work[], store: () => Promise<T[]>): Promise<T[]> => {
    try {
      return await store();
    } catch (error) {
      if (!isProjectNotFound(error)) throw error;
      gone.push(...work);
      return [];
    }
  };
  for (let left = groups; left.length > 0;) {
    const batches = (
      await inParallel(left, CONNECTIONS, (group) => unlessGone(group.work, () => splitBatches(env, group)))
    ).flat();
    await storeBlobs(env, batches);
    left = (
      await inParallel(batches, CONNECTIONS, (batch) => unlessGone(batch.work, () => upsert(env, batch, batched)))
    ).flat();
  }
  return gone;
}

/** R2 deletes this many objects in one call. */
const BLOBS_AT_ONCE = 1_000;

/** The keys of the operations' objects in R2. */
export function blobKeys(work: Work[]): string[] {
  return work.flatMap(({ blobs }) => blobs?.names.map((name) => blobs.prefix + name) ?? []);
}

/** Deletes objects of a deleted project: no partition deletes them. */
export async function deleteStray(bucket: R2Bucket, keys: string[]): Promise<void> {
  for (let at = 0; at < keys.length; at += BLOBS_AT_ONCE) await bucket.delete(keys.slice(at, at + BLOBS_AT_ONCE));
}

interface Batch {
  partition: PartitionIdentity;
  /** The number of the day's shards by which the partition was chosen. */
  shards: number;
  work: Work[];
}

async function splitBatches(env: Env, { day, work }: Group): Promise<Batch[]> {
  const shards = shardsKnown(day);
  const byShard = await placeItems(env, day, work, shards);
  return [...byShard].map(([shard, own]) => ({ partition: { ...day, shard }, shards, work: own }));
}

async function storeBlobs(env: Env, batches: Batch[]): Promise<void> {
  const bucket = openSealedBlobs(env);
  const blobs = new Map<string, PayloadBlob>();
  const copies: { from: string; to: string }[] = [];
  for (const { partition, work } of batches) {
    const prefix = blobPrefix(partition.workspaceId, partition);
    const ring = await loadRing(env, partition.workspaceId);
    for (const item of work) {
      const before = item.blobs;
      if (!before) {
        const own = placePayloads(prefix, ring, item.draft, item.operation);
        for (const blob of own) blobs.set(blob.key, blob);
        item.blobs = { prefix, names: own.map(({ key }) => key.slice(prefix.length)) };
      } else if (before.prefix !== prefix) {
        copies.push(...before.names.map((name) => ({ from: before.prefix + name, to: prefix + name })));
        item.blobs = { ...before, prefix };
      }
    }
  }
  await inParallel(blobs.values(), CONNECTIONS, (blob) => putBlob(bucket, blob));
  await copyBlobs(bucket, copies);
}

/** Writes a batch. Gives what has to go to another shard. */
async function upsert(env: Env, { partition, shards, work }: Batch, batched: boolean): Promise<Group[]> {
  const stub = tracePartition(env, partition.workspaceId, partition);
  const left = new Set<string>();
  try {
    for (const part of splitWork(work)) {
      const writes = part.map(({ draft }) => draft.write);
      const answer = await stub.upsert(partition, writes, { batched, shards });
      noteShards(partition, answer.shards);
      for (const id of answer.left) left.add(id);
    }
  } catch (error) {
    const canGrow = !isClosed(partition.shard, shards) && shards < MAX_SHARDS;
    if (findOutage(error) !== "overloaded" || !canGrow) throw error;
    noteShards(partition, shards * 2);
    return [{ day: partition, work }];
  }
  if (left.size === 0) return [];
  const again = work.filter(({ draft }) => left.has(draft.write.id)).map((item) => ({ ...item, shard: undefined }));
  return [{ day: partition, work: again }];
}

/** Cuts work into parts that each fit in one RPC. */
function* splitWork(work: Work[]): Generator<Work[]> {
  let part: Work[] = [];
  let weight = 0;
  for (const item of work) {
    const own = weighWrite(item.draft.write);
    if (part.length > 0 && weight + own > RPC_BYTES) {
      yield part;
      [part, weight] = [[], 0];
    }
    part.push(item);
    weight += own;
  }
  if (part.length > 0) yield part;
}

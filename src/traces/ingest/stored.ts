/** Stores drafted runs in the partitions of their days: objects to R2 first, then the runs that refer to them. */
import { findOutage } from "../../lib/retry.ts";
import { openBlobs } from "../../access/encryption/blobs.ts";
import { loadRing } from "../../access/encryption/keys.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { isProjectGone } from "../projects/gone.ts";
import { blobPrefix, tracePartition } from "../stub.ts";
import type { PartitionIdentity } from "../types.ts";
import { isClosed, MOST_SHARDS } from "../shards.ts";
import { weighWrite } from "../weight.ts";
import type { Draft } from "./normalise.ts";
import type { Operation } from "./operations.ts";
import { type Blob, copyBlobs, placePayloads, putBlob } from "./payloads.ts";
import { type Day, noteShards, placeItems, shardsKnown } from "./placed.ts";

/** The most weight of one RPC (`weighWrite`). The platform's limit is 32 MiB. */
const RPC_BYTES = 8 * 1024 * 1024;

/** One operation, as far as it has come. */
export interface Work {
  operation: Operation;
  draft: Draft;
  /** The shard in which its run was found. */
  shard?: number;
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
      if (!isProjectGone(error)) throw error;
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
  const bucket = openBlobs(env);
  const blobs = new Map<string, Blob>();
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
    const canGrow = !isClosed(partition.shard, shards) && shards < MOST_SHARDS;
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

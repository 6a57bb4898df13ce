/** The stub of a partition, and the keys of its objects in R2. */
import { objectNamed, rpcProxy } from "../lib/rpc.ts";
import { retryCalls } from "../lib/retry.ts";
import { openIfSealed } from "./encryption.ts";
import type { TracePartitionRpc } from "./rpc.ts";
import { toDay } from "./time.ts";
import type { PartitionLocation, QueriedRun } from "./types.ts";

/** All objects of a partition in R2 have this prefix, so that they are deleted with the partition. */
export function blobPrefix(workspaceId: string, location: PartitionLocation): string {
  return `traces/${partitionName(workspaceId, location)}/`;
}

export function runBlobPrefix(run: Pick<QueriedRun, "tenant_id" | "session_id" | "start_time" | "shard">): string {
  return blobPrefix(run.tenant_id, { projectId: run.session_id, day: toDay(run.start_time), shard: run.shard });
}

/** The key of a large payload in R2, below its partition's prefix. */
export function payloadKey(prefix: string, hash: string): string {
  return `${prefix}payloads/${hash}`;
}

/**
 * The partition at a place of a workspace. The ids are the isolation: they name the object. Calls are repeated when the
 * object restarts: each has the same effect when it is carried out twice.
 */
export function tracePartition(env: Env, workspaceId: string, location: PartitionLocation): TracePartitionRpc {
  const name = partitionName(workspaceId, location);
  const calls = retryCalls(() => rpcProxy<TracePartitionRpc>(objectNamed(env, env.TRACE_PARTITION, name)));
  return openIfSealed(env, workspaceId, calls);
}

/** Shard 0 has the name of a day without shards. */
function partitionName(workspaceId: string, { projectId, day, shard }: PartitionLocation): string {
  return `${workspaceId}/${projectId}/${day}${shard === 0 ? "" : `#${shard}`}`;
}

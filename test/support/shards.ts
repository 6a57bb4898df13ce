/** A project whose days get several shards, and what their shards hold. */
import { env, runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import { database } from "../../src/db/client.ts";
import type { TracePartitionRpc } from "../../src/traces/rpc.ts";
import { listPartitions } from "../../src/traces/projects/partitions.ts";
import { tracePartition } from "../../src/traces/stub.ts";
import type { PartitionLocation } from "../../src/traces/types.ts";
import type { Caller } from "./caller.ts";
import { DAY, projectId, runParts, type Sent, sendMultipart } from "./traces.ts";

export const ALL = { order: "asc" as const, after: null, limit: 1_000, maxBytes: 30_000_000, payloads: [] };

export const getPartition = (workspaceId: string, { projectId: project, day, shard }: PartitionLocation) =>
  env.TRACE_PARTITION.getByName(`${workspaceId}/${project}/${day}${shard === 0 ? "" : `#${shard}`}`);

/** A project whose shards are full when they are larger than this. */
export async function newProject(caller: Caller) {
  await caller.fetch("/sessions", { body: { name: "tests" } });
  const project = await projectId(caller);
  const place = (shard: number): PartitionLocation => ({ projectId: project, day: DAY, shard });
  return {
    project,
    place,
    shard: (shard: number) => tracePartition(env, caller.workspaceId, place(shard)),
    identity: (shard: number) => ({
      workspaceId: caller.workspaceId,
      ...place(shard),
      traceTier: "longlived" as const,
    }),
    /** Makes a shard full for what comes from now on. */
    fill: (shard: number, bytes = 1) =>
      runInDurableObject(getPartition(caller.workspaceId, place(shard)), (partition) => {
        const own = partition as unknown as { env: Env };
        own.env = { ...own.env, TRACE_SHARD_BYTES: String(bytes) };
      }),
    shards: async () => {
      const rows = await listPartitions(database(env.DB), caller.workspaceId, project, DAY, DAY);
      return rows.map(({ shard }) => shard);
    },
  };
}

export const idsIn = async (partition: TracePartitionRpc) => (await partition.query(ALL)).runs.map(({ id }) => id);
export const send = async (caller: Caller, runs: Sent[], kind: "post" | "patch" = "post") => {
  const response = await sendMultipart(
    caller,
    runs.flatMap((run) => runParts(kind, run)),
  );
  expect(await response.json()).toMatchObject({ taken: runs.length, rejected: 0 });
};

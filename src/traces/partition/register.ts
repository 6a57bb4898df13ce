/** What a partition tells the world: its row in D1, and its end when the retention is over. */
import { database } from "../../db/client.ts";
import type { TraceTier } from "../../db/traces.ts";
import { blobPrefix, type PartitionIdentity } from "../rpc.ts";
import { deletePartition, savePartition } from "../store.ts";
import { dayBounds } from "../time.ts";
import { readMeta, writeMeta } from "./meta.ts";

const DAY_MS = 86_400_000;
/** How long the runs of a partition are kept, days. A deployment may set TRACE_RETENTION_DAYS and …_SHORT. */
const RETENTION_DAYS: Record<TraceTier, number> = { longlived: 400, shortlived: 14 };

/** How long D1 may be behind, milliseconds. */
export const REGISTER_DELAY_MS = 2_000;

/** Writes the partition's row in D1, if it is behind. */
export async function register(env: Env, sql: SqlStorage): Promise<void> {
  const identity = readMeta(sql, "identity");
  const counts = readMeta(sql, "counts");
  if (!identity || !counts || JSON.stringify(counts) === JSON.stringify(readMeta(sql, "registered"))) return;
  const { workspaceId, projectId, day } = identity;
  const { rows, bytes, lastStart } = counts;
  const lastRunStartTime = Math.floor(lastStart / 1000);
  await savePartition(database(env.DB), { workspaceId, projectId, day, rows, bytes, lastRunStartTime });
  writeMeta(sql, "registered", counts);
}

/**
 * When the partition is to be deleted, milliseconds. It counts from the day's end, or from the last write where that is
 * later: traces that are replayed or migrated keep their old times and must not vanish as they arrive.
 */
export function expiryOf(env: Env, sql: SqlStorage): number | undefined {
  const identity = readMeta(sql, "identity");
  if (!identity) return undefined;
  const set = Number(identity.traceTier === "longlived" ? env.TRACE_RETENTION_DAYS : env.TRACE_RETENTION_DAYS_SHORT);
  const days = set > 0 ? set : RETENTION_DAYS[identity.traceTier];
  return Math.max(dayBounds(identity.day).end / 1000, readMeta(sql, "written") ?? 0) + days * DAY_MS;
}

/** Deletes what lies outside the object: R2 first, then the row by which people find the day. */
export async function deleteOutside(
  env: Env,
  identity: Pick<PartitionIdentity, "workspaceId" | "projectId" | "day">,
): Promise<void> {
  const prefix = blobPrefix(identity.workspaceId, identity.projectId, identity.day);
  for (;;) {
    const { objects } = await env.BLOBS.list({ prefix, limit: 1000 });
    if (objects.length === 0) break;
    await env.BLOBS.delete(objects.map(({ key }) => key));
  }
  await deletePartition(database(env.DB), identity.workspaceId, identity.projectId, identity.day);
}

/**
 * What deletions leave outside of a partition: objects in R2, and the places of feedback in D1. Both are recorded in the transaction
 * of the deletion, so none is missed. The alarm deletes what a failed request leaves.
 */
import { database } from "../../db/client.ts";
import { deletePlacesById } from "../feedback/store.ts";
import { blobPrefix } from "../stub.ts";
import type { PartitionIdentity } from "../types.ts";
import { dueBlobs, forgetBlobs } from "./blobs.ts";
import { forgetUnlisted, unlistedFeedback } from "./feedback.ts";

/** `known` reads or writes the partition, and gives undefined when it was destroyed. */
export async function deleteRemains(
  env: Env,
  sql: SqlStorage,
  known: <T>(read: (identity: PartitionIdentity) => T) => T | undefined,
): Promise<void> {
  for (;;) {
    const places = known(({ workspaceId }) => ({ workspaceId, ids: unlistedFeedback(sql) }));
    if (!places || places.ids.length === 0) break;
    await deletePlacesById(database(env.DB), places.workspaceId, places.ids);
    known(() => forgetUnlisted(sql, places.ids));
  }
  for (;;) {
    const keys = known((identity) => dueBlobs(sql, blobPrefix(identity.workspaceId, identity))) ?? [];
    if (keys.length === 0) return;
    await env.BLOBS.delete(keys);
    known(() => forgetBlobs(sql, keys));
  }
}

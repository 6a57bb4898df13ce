import { database } from "../../db/client.ts";
import { deleteComparativesOf } from "./comparative-store.ts";
import { deleteBlobs, datasetPrefix } from "./examples/bodies.ts";
import { deleteShare } from "../store/share-store.ts";
import { deleteExamplesOf } from "./examples/store.ts";
import { type DatasetRow, deleteDataset } from "./store.ts";
import { deleteVersionsOf } from "./version-store.ts";

/**
 * Deletes a dataset with its examples, in all versions, and their objects in R2. The dataset itself is deleted last, so that a
 * request that failed can be sent again. A request that adds examples in the meantime fails, or its examples are
 * deleted too.
 */
export async function destroyDataset(env: Env, { workspaceId, id }: DatasetRow): Promise<void> {
  const db = database(env.DB);
  await deleteExamplesOf(db, workspaceId, id);
  await deleteBlobs(env.BLOBS, datasetPrefix(workspaceId, id));
  await deleteVersionsOf(db, workspaceId, id);
  await deleteComparativesOf(db, workspaceId, id);
  await deleteShare(db, { workspaceId, kind: "dataset", targetId: id });
  await deleteDataset(db, workspaceId, id);
  // Examples that were written after the first deletion.
  await deleteExamplesOf(db, workspaceId, id);
  await deleteBlobs(env.BLOBS, datasetPrefix(workspaceId, id));
}

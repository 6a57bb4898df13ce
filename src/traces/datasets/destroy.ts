import { database } from "../../db/client.ts";
import { deleteDatasetComparatives } from "../review/experiments/store.ts";
import { deleteBlobs, datasetPrefix } from "../review/examples/bodies.ts";
import { deleteShare } from "../review/share/store.ts";
import { deleteDatasetExamples } from "../review/examples/store.ts";
import { type DatasetRow, deleteDataset } from "./store.ts";
import { deleteDatasetVersions } from "../review/datasets/store.ts";

/**
 * Deletes a dataset with its examples, in all versions, and their objects in R2. The dataset itself is deleted last, so that a
 * request that failed can be sent again. A request that adds examples in the meantime fails, or its examples are
 * deleted too.
 */
export async function destroyDataset(env: Env, { workspaceId, id }: DatasetRow): Promise<void> {
  const db = database(env.DB);
  await deleteDatasetExamples(db, workspaceId, id);
  await deleteBlobs(env.BLOBS, datasetPrefix(workspaceId, id));
  await deleteDatasetVersions(db, workspaceId, id);
  await deleteDatasetComparatives(db, workspaceId, id);
  await deleteShare(db, { workspaceId, kind: "dataset", targetId: id });
  await deleteDataset(db, workspaceId, id);
  // Examples that were written after the first deletion.
  await deleteDatasetExamples(db, workspaceId, id);
  await deleteBlobs(env.BLOBS, datasetPrefix(workspaceId, id));
}

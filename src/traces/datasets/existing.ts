/** The datasets and experiments that a request names. */
import type { Context } from "hono";
import { database } from "../../db/client.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { listProjects, type ProjectRow } from "../projects/store.ts";
import { type DatasetRow, findDataset } from "./store.ts";

/** The caller's dataset with this id. @throws Problem 404 */
export async function existingDataset(c: Context<App>, id: string): Promise<DatasetRow> {
  const row = await findDataset(database(c.env.DB), c.get("principal").workspaceId, id);
  if (!row) throw new Problem(404, "Dataset not found.");
  return row;
}

/** The experiments on a dataset with these ids, in their order. Those that were deleted are absent. */
export async function knownExperiments(c: Context<App>, datasetId: string, ids: string[]): Promise<ProjectRow[]> {
  const rows = await listProjects(database(c.env.DB), c.get("principal").workspaceId, {
    id: ids,
    reference_dataset: [datasetId],
    sort_by: "start_time",
    sort_by_desc: false,
    limit: ids.length,
    offset: 0,
  });
  return ids.flatMap((id) => rows.find((row) => row.id === id) ?? []);
}

/** The experiments on a dataset with these ids. @throws Problem 404 when one of them is not there */
export async function existingExperiments(c: Context<App>, datasetId: string, ids: string[]): Promise<ProjectRow[]> {
  const rows = await knownExperiments(c, datasetId, ids);
  if (rows.length < ids.length) throw new Problem(404, "The dataset has no experiment with one of these ids.");
  return rows;
}

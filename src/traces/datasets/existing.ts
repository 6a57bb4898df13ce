import type { Context } from "hono";
import { database } from "../../db/client.ts";
import { Problem } from "../../http/problem.ts";
import type { App } from "../../http/types.ts";
import { type DatasetRow, findDataset } from "./store.ts";

/** The caller's dataset with this id. @throws Problem 404 */
export async function existingDataset(c: Context<App>, id: string): Promise<DatasetRow> {
  const row = await findDataset(database(c.env.DB), c.get("principal").workspaceId, id);
  if (!row) throw new Problem(404, "Dataset not found.");
  return row;
}

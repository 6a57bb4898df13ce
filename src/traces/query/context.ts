/** What the shapes of runs need beyond the runs. */
import { database } from "../../db/client.ts";
import { projectById } from "../projects/resolve.ts";
import type { QueriedRun } from "../types.ts";
import { attachmentUrls } from "./attachments.ts";
import type { ShapeContext } from "./row.ts";

/** `origin`: the server's own, for the links. */
export async function readContext(
  env: Env,
  origin: string,
  workspaceId: string,
  runs: QueriedRun[],
): Promise<ShapeContext> {
  const datasets = new Map<string, string | null>();
  for (const id of new Set(runs.map((run) => run.session_id))) {
    datasets.set(id, (await projectById(database(env.DB), workspaceId, id))?.referenceDatasetId ?? null);
  }
  return { workspaceId, datasets, attachmentUrl: await attachmentUrls(env, origin, runs) };
}

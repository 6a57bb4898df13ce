/** Datasets as the platform calls them. */
import type { Database } from "../../../db/client.ts";
import { countDatasetExperiments } from "../../projects/store.ts";
import { countExamples } from "../examples/store.ts";
import type { DatasetRow } from "./store.ts";
import type { Dataset } from "./wire.ts";

export { Dataset } from "./wire.ts";

/** The datasets of one workspace, with their counts of examples and experiments. */
export async function toWireDatasets(db: Database, workspaceId: string, rows: DatasetRow[]): Promise<Dataset[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const [exampleCounts, experimentCounts] = await Promise.all([
    countExamples(db, workspaceId, ids),
    countDatasetExperiments(db, workspaceId, ids),
  ]);
  return rows.map((row) => {
    const experiments = experimentCounts.get(row.id);
    return {
      id: row.id,
      tenant_id: row.workspaceId,
      name: row.name,
      description: row.description,
      data_type: row.dataType,
      created_at: new Date(row.createdAt).toISOString(),
      modified_at: new Date(row.modifiedAt).toISOString(),
      example_count: exampleCounts.get(row.id) ?? 0,
      session_count: experiments?.count ?? 0,
      last_session_start_time: experiments ? new Date(experiments.last).toISOString() : null,
      inputs_schema_definition: row.inputsSchema,
      outputs_schema_definition: row.outputsSchema,
      metadata: row.metadata,
      externally_managed: false,
    };
  });
}

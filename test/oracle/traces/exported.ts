/** What a reader of an export finds, beside the model. */
import { columnApart, modelRow, readRow, type Row, type Texts } from "./exported-row.ts";
import { toText, type Value } from "./json.ts";
import type { Run } from "./run.ts";
import type { World } from "./world.ts";

/** The export and each of its runs have ended. */
export async function mustEnd({ weir }: World, id: string, status: string): Promise<void> {
  const job = (await weir.call(`/api/v1/bulk-exports/${id}`)) as { status: string; error: Value };
  if (job.status !== status) throw new Error(`the export is ${job.status}, must be ${status}: ${toText(job.error)}`);
  const runs = (await weir.call(`/api/v1/bulk-exports/${id}/runs`)) as { status: string }[];
  const open = runs.filter((run) => run.status !== status && run.status !== "COMPLETED");
  if (open.length > 0) throw new Error(`runs of a ${status} export are ${open.map((run) => run.status).join(", ")}`);
}

export function sameIds(rows: readonly Row[], runs: readonly Run[]): void {
  const [real, wanted] = [rows.map(({ id }) => String(id)).toSorted(), runs.map(({ id }) => id).toSorted()];
  if (toText(real) === toText(wanted)) return;
  const twice = real.filter((id, n) => real[n - 1] === id);
  const missing = wanted.filter((id) => !real.includes(id));
  throw new Error(
    `the files have ${real.length} rows of ${wanted.length} runs; twice: ${twice.join()}; missing: ${missing.join()}`,
  );
}

/** The reader of Parquet of these tests removes byte order marks. */
const removeMarks = (row: Texts): Texts =>
  Object.fromEntries(Object.entries(row).map(([name, text]) => [name, text?.replaceAll("\ufeff", "") ?? null]));

export function sameRows(rows: readonly Row[], { project, weir }: World, runs: readonly Run[]): void {
  sameIds(rows, runs);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const trees = Map.groupBy(project.runs, ({ traceId }) => traceId);
  for (const run of runs) {
    const wanted = modelRow(run, trees.get(run.traceId) ?? [], {
      session: weir.id(project.name),
      tier: project.readTier(run),
    });
    const apart = columnApart(removeMarks(readRow(byId.get(run.id) ?? {})), removeMarks(wanted));
    if (apart !== undefined) throw new Error(`of the exported row of ${run.id} ${apart}`);
  }
}

/** What a reader of an export finds, beside the model. */
import { textOf, type Value, valueOf } from "./json.ts";
import type { Run } from "./run.ts";
import type { World } from "./world.ts";

export type Row = Record<string, unknown>;

/** The export and each of its runs have ended. */
export async function mustEnd({ weir }: World, id: string, status: string): Promise<void> {
  const job = (await weir.call(`/api/v1/bulk-exports/${id}`)) as { status: string; error: Value };
  if (job.status !== status) throw new Error(`the export is ${job.status}, must be ${status}: ${textOf(job.error)}`);
  const runs = (await weir.call(`/api/v1/bulk-exports/${id}/runs`)) as { status: string }[];
  const open = runs.filter((run) => run.status !== status && run.status !== "COMPLETED");
  if (open.length > 0) throw new Error(`runs of a ${status} export are ${open.map((run) => run.status).join(", ")}`);
}

export function sameIds(rows: readonly Row[], runs: readonly Run[]): void {
  const [real, wanted] = [rows.map(({ id }) => String(id)).toSorted(), runs.map(({ id }) => id).toSorted()];
  if (textOf(real) === textOf(wanted)) return;
  const twice = real.filter((id, n) => real[n - 1] === id);
  const missing = wanted.filter((id) => !real.includes(id));
  throw new Error(
    `the files have ${real.length} rows of ${wanted.length} runs; twice: ${twice.join()}; missing: ${missing.join()}`,
  );
}

/** A time of Parquet, microseconds. */
const timeText = (time: unknown) => (typeof time === "bigint" ? String(time) : null);

/** The reader of Parquet removes a byte order mark. */
const unmarked = (text: string) => text.replace(/^\ufeff/, "");

export function sameRows(rows: readonly Row[], { project, weir }: World, runs: readonly Run[]): void {
  sameIds(rows, runs);
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const run of runs) {
    const row = byId.get(run.id) ?? {};
    const json = (column: string) => (typeof row[column] === "string" ? textOf(valueOf(row[column])) : null);
    const real = [
      row.session_id,
      row.name,
      row.trace_id,
      row.parent_run_id ?? null,
      timeText(row.start_time),
      timeText(row.end_time),
      row.status,
      row.error ?? null,
      row.trace_tier,
      textOf(row.tags as Value),
      json("inputs") ?? "{}",
      json("outputs"),
      json("extra") ?? "{}",
    ];
    const wanted = [
      weir.id(project.name),
      unmarked(run.name),
      run.traceId,
      run.parentId,
      String(run.start),
      run.end === null ? null : String(run.end),
      run.status,
      run.error === null ? null : unmarked(run.error),
      project.tier,
      textOf(run.tags.map(unmarked)),
      textOf(run.inputs),
      run.outputs === null ? null : textOf(run.outputs),
      textOf(run.extra),
    ];
    const at = real.findIndex((value, n) => value !== wanted[n]);
    if (at >= 0)
      throw new Error(
        `the exported row of ${run.id} has ${String(real[at]).slice(0, 200)}, must have ${String(wanted[at]).slice(0, 200)}`,
      );
  }
}

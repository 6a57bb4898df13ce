/** A row of an export as texts: what a reader finds in it, and what the model says. */
import { computeFigures } from "./figures.ts";
import { toText, type Value, parseValue } from "./json.ts";
import type { Run } from "./run.ts";

export type Row = Record<string, unknown>;
export type Texts = Record<string, string | null>;

/** A reader gives texts, bigints and booleans. */
const toColumnText = (value: unknown): string | null =>
  typeof value === "string" || typeof value === "bigint" || typeof value === "boolean" ? String(value) : null;

const list = (value: unknown): string => toText((value ?? []) as Value);

/** A column of JSON. Its spaces do not matter, its digits do. */
const json = (value: unknown): string | null => (typeof value === "string" ? toText(parseValue(value)) : null);

/** A row of the files. Times are microseconds. */
export const readRow = (row: Row): Texts => ({
  session_id: toColumnText(row.session_id),
  trace_id: toColumnText(row.trace_id),
  parent_run_id: toColumnText(row.parent_run_id),
  parent_run_ids: list(row.parent_run_ids),
  dotted_order: toColumnText(row.dotted_order),
  is_root: toColumnText(row.is_root),
  name: toColumnText(row.name),
  run_type: toColumnText(row.run_type),
  start_time: toColumnText(row.start_time),
  end_time: toColumnText(row.end_time),
  status: toColumnText(row.status),
  error: toColumnText(row.error),
  trace_tier: toColumnText(row.trace_tier),
  tags: list(row.tags),
  total_tokens: toColumnText(row.total_tokens) ?? "0",
  inputs: json(row.inputs) ?? "{}",
  outputs: json(row.outputs),
  extra: json(row.extra) ?? "{}",
});

/** The row of a run of a project, whose `tree` has all runs of its trace. */
export const modelRow = (run: Run, tree: readonly Run[], project: { session: string; tier: string }): Texts => ({
  session_id: project.session,
  trace_id: run.traceId,
  parent_run_id: run.parentId,
  parent_run_ids: toText(run.path.slice(0, -1)),
  dotted_order: run.dotted,
  is_root: String(run.isRoot),
  name: run.name,
  run_type: run.runType,
  start_time: String(run.start),
  end_time: run.end === null ? null : String(run.end),
  status: run.status,
  error: run.error,
  trace_tier: project.tier,
  tags: toText(run.tags),
  total_tokens: String(computeFigures([run], tree).total_tokens),
  inputs: toText(run.inputs),
  outputs: run.outputs === null ? null : toText(run.outputs),
  extra: toText(run.extra),
});

/** Says the first column that differs. Undefined when none does. */
export function columnApart(real: Texts, wanted: Texts): string | undefined {
  const column = Object.keys(wanted).find((name) => real[name] !== wanted[name]);
  if (column === undefined) return undefined;
  const [a, b] = [real, wanted].map((row) => JSON.stringify(row[column]).slice(0, 200));
  return `${column} is ${a}, must be ${b}`;
}

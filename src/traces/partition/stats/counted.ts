/**
 * Which tokens and costs statistics add up, so that nothing is counted once for each level of nesting. The totals of a run include
 * what happened below it:
 * - `totals`: of roots, the totals are added up.
 * - `own`: of all runs, or of calls of models, what each used itself (`runs.spends`). The sum is that of the roots.
 * - `outermost`: of runs that a filter selects, the totals of those with no selected run above them.
 */
import { parseFilter, type TraceFilter } from "../../filter/filter.ts";
import type { RunSelection } from "../../rpc.ts";
import { MODEL_RUNS } from "../../types.ts";

export type CountedUsage = "totals" | "own" | "outermost";

export const USAGE_COLUMNS = [
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
] as const;

type UsageColumn = (typeof USAGE_COLUMNS)[number];

export function countedUsage(selection: RunSelection): CountedUsage {
  const { isRoot, filter: text, runType, startTime: _start, endTime: _end, ...others } = selection;
  const {
    traceId: _trace,
    traceFilter: _root,
    treeFilter: _tree,
    traceElsewhere: _1,
    treeElsewhere: _2,
    ...ofRun
  } = others;
  const filter = text ? parseFilter(text) : undefined;
  if (isRoot === true || (filter && pins(filter, "is_root", (value) => value === true))) return "totals";
  const isModel = (type: unknown) => MODEL_RUNS.has(String(type));
  if (runType === undefined ? filter && pins(filter, "run_type", isModel) : isModel(runType)) return "own";
  const isAll = !filter && runType === undefined && Object.values(ofRun).every((value) => value === undefined);
  return isAll && isRoot === undefined ? "own" : "outermost";
}

/** Whether all runs that pass have such a value. */
function pins(filter: TraceFilter, field: string, isSuch: (value: unknown) => boolean): boolean {
  if (filter.op === "and") return filter.args.some((one) => pins(one, field, isSuch));
  if (filter.op === "or") return filter.args.every((one) => pins(one, field, isSuch));
  return filter.op === "compare" && filter.field === field && filter.comparison === "eq" && isSuch(filter.value);
}

export interface CountedSql {
  /** Common table expressions, without WITH, and the values that they bind. */
  tables: string[];
  values: (string | number)[];
  /** A column of usage of `runs r`, null where it does not count. */
  column: (name: UsageColumn) => string;
}

/** `selected`: FROM and WHERE of the selected runs. */
export function countedSql(counted: CountedUsage, selected: string, values: (string | number)[]): CountedSql {
  if (counted === "totals") return { tables: [], values: [], column: (name) => `r.${name}` };
  if (counted === "own")
    return { tables: [], values: [], column: (name) => `CASE WHEN r.spends = 1 THEN r.${name} END` };
  return {
    tables: [
      `counted AS MATERIALIZED (SELECT r.n, r.id, r.parent_run_ids FROM ${selected}
         AND (r.total_tokens IS NOT NULL OR r.total_cost IS NOT NULL))`,
      `nested AS MATERIALIZED (SELECT c.n FROM counted c
         WHERE EXISTS (SELECT 1 FROM json_each(c.parent_run_ids) a CROSS JOIN counted o ON o.id = a.value))`,
    ],
    values,
    column: (name) => `CASE WHEN r.n NOT IN (SELECT n FROM nested) THEN r.${name} END`,
  };
}

export const withTables = (tables: string[], select: string): string =>
  tables.length > 0 ? `WITH ${tables.join(", ")} ${select}` : select;

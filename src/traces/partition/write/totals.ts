/** Tokens and costs of runs with descendants: a run's totals include what happened below it. */
import { addUsage, type Usage } from "../../../limits/prices/usage.ts";
import { addCost, type PriceTable } from "../../../limits/prices/prices.ts";
import { OF_TRACES } from "../../run-groups.ts";
import { setTotals } from "./merge.ts";
import type { RunRow } from "../store/tables.ts";
import { OF_IDS } from "../store/ids.ts";

type Spender = Pick<RunRow, "id" | "parent_run_ids" | "run_type" | "metadata"> & { usage: string };

type Totals = Pick<
  RunRow,
  | "total_tokens"
  | "prompt_tokens"
  | "completion_tokens"
  | "total_cost"
  | "prompt_cost"
  | "completion_cost"
  | "usage_details"
>;

/**
 * The most characters of a provider or model name. Only these are loaded: the metadata of a large trace does not fit in
 * memory.
 */
const MODEL = 200;

/** Runs that report a call to a model. A usage that another kind of run repeats from below it is not counted twice. */
const MODEL_RUNS = new Set(["llm", "embedding"]);

/** Brings the totals of all ancestors in these traces up to date. Gives the runs that changed. */
export function sumTotals(sql: SqlStorage, traces: string[], prices: PriceTable): string[] {
  const spenders = sql
    .exec<Spender>(
      `SELECT id, parent_run_ids, run_type, usage, CASE WHEN metadata IS NOT NULL THEN json_object(
         'ls_provider', substr(metadata ->> '$.ls_provider', 1, ${MODEL}), 'ls_model_name', substr(metadata ->> '$.ls_model_name', 1, ${MODEL})
       ) END AS metadata FROM runs
       WHERE usage IS NOT NULL AND n IN ${OF_TRACES}`,
      JSON.stringify(traces),
    )
    .toArray();
  const sums = sumBelow(spenders, prices);
  if (sums.size === 0) return [];
  const stored = sql.exec<{
    id: string;
    total_tokens: number | null;
    total_cost: number | null;
    usage_details: string | null;
  }>(
    `SELECT id, total_tokens, total_cost, usage_details FROM runs WHERE n IN ${OF_IDS}`,
    JSON.stringify([...sums.keys()]),
  );
  const changed: string[] = [];
  for (const { id, ...now } of stored.toArray()) {
    const totals = toTotals(sums.get(id));
    if (
      now.total_tokens === totals.total_tokens &&
      now.total_cost === totals.total_cost &&
      now.usage_details === totals.usage_details
    )
      continue;
    changed.push(id);
    sql.exec(
      `UPDATE runs SET total_tokens = ?, prompt_tokens = ?, completion_tokens = ?, total_cost = ?, prompt_cost = ?,
       completion_cost = ?, usage_details = ? WHERE n IN ${OF_IDS}`,
      totals.total_tokens,
      totals.prompt_tokens,
      totals.completion_tokens,
      totals.total_cost,
      totals.prompt_cost,
      totals.completion_cost,
      totals.usage_details,
      JSON.stringify([id]),
    );
  }
  return changed;
}

/**
 * Sets the totals of rows that are to be written, as far as these rows themselves say. A trace most often comes whole: `sumTotals`
 * then finds nothing to change, which saves a write of each row.
 */
export function sumKnown(rows: RunRow[], prices: PriceTable): void {
  const spenders = rows.filter((row): row is RunRow & { usage: string } => row.usage !== null);
  for (const [id, usage] of sumBelow(spenders, prices)) {
    const row = rows.find((one) => one.id === id);
    if (row) setTotals(row, usage);
  }
}

/** For every run above a spender, what was spent below it. */
function sumBelow(spenders: Spender[], prices: PriceTable): Map<string, Usage> {
  const models = new Set(spenders.filter((run) => MODEL_RUNS.has(run.run_type)).map((run) => run.id));
  const paths = new Map(spenders.map((run) => [run.id, JSON.parse(run.parent_run_ids) as string[]]));
  const aboveSpenders = new Set([...paths.values()].flat());
  const sums = new Map<string, Usage>();
  for (const run of spenders) {
    if (!models.has(run.id) && aboveSpenders.has(run.id)) continue;
    const metadata = JSON.parse(run.metadata ?? "{}") as Record<string, unknown>;
    const usage = addCost(JSON.parse(run.usage) as Usage, metadata, prices);
    // Upwards, as far as the next model run: that one already reports the whole call.
    for (const ancestor of (paths.get(run.id) ?? []).toReversed()) {
      if (models.has(ancestor)) break;
      const sum = sums.get(ancestor);
      sums.set(ancestor, sum ? addUsage(sum, usage) : usage);
    }
  }
  return sums;
}

function toTotals(usage: Usage | undefined): Totals {
  const totals = {} as Parameters<typeof setTotals>[0];
  setTotals(totals, usage);
  return totals;
}

/** One page of a comparison: the examples' bodies, and the outputs and feedback of the runs. */
import * as v from "valibot";
import { AnyObject, Count, Id, Time } from "../../../http/shapes.ts";
import { database } from "../../../db/client.ts";
import { parseJson } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { placeholder } from "../../query/responses.ts";
import { type Find, findRuns } from "../../query/find.ts";
import type { QueriedRun } from "../../types.ts";
import { isoFromMicros } from "../../time.ts";
import { blobKey } from "../examples/bodies.ts";
import { type ExampleRow, findExamples } from "../examples/store.ts";
import type { DatasetRow } from "../../datasets/store.ts";
import type { Row } from "../../datasets/compare/compare.ts";

/** The mean score of each key of feedback. */
export const Scores = v.record(v.string(), v.number());
const ShownExample = v.object({
  id: Id,
  inputs: v.nullable(AnyObject),
  outputs: v.nullable(AnyObject),
  metadata: AnyObject,
});
const ShownRun = v.object({
  id: v.string(),
  trace_id: v.string(),
  status: v.string(),
  start_time: Time,
  latency: v.nullable(v.number()),
  outputs: v.unknown(),
  error: v.nullable(v.string()),
  total_tokens: Count,
  total_cost: v.nullable(v.number()),
  feedback_stats: AnyObject,
});
export const ComparedRow = v.object({
  example_id: v.string(),
  /** Null when it is no longer in the dataset. */
  example: v.nullable(ShownExample),
  results: v.array(
    v.object({
      experiment_id: Id,
      scores: Scores,
      improved: v.array(v.string()),
      regressed: v.array(v.string()),
      newly_failed: v.boolean(),
      runs: v.array(ShownRun),
    }),
  ),
});

/** The most bytes of the outputs of a page that are held at once. Outputs in R2 do not count. */
const PAGE_BYTES = 12 * 1024 * 1024;

/** The rows as the API shows them. `experimentIds` are in the order of each row's results. */
export async function pageRows(env: Env, dataset: DatasetRow, experimentIds: string[], rows: Row[]): Promise<object[]> {
  const exampleIds = rows.map(({ exampleId }) => exampleId);
  const [examples, runs] = await Promise.all([
    findExamples(database(env.DB), dataset.workspaceId, exampleIds),
    loadRuns(env, dataset.workspaceId, experimentIds, exampleIds),
  ]);
  const byId = new Map(examples.map((row) => [row.id, row]));
  return rows.map(({ exampleId, results }) => ({
    example_id: exampleId,
    example: toWireExample(byId.get(exampleId)),
    results: results.map((result, index) => ({
      experiment_id: experimentIds[index],
      scores: result.scores,
      improved: result.improved,
      regressed: result.regressed,
      newly_failed: result.newlyFailed,
      runs: result.runs.flatMap(({ id }) => {
        const run = runs.get(id);
        return run ? [toWireRun(run)] : [];
      }),
    })),
  }));
}

async function loadRuns(env: Env, workspaceId: string, projectIds: string[], referenceExampleIds: string[]) {
  const runs = new Map<string, QueriedRun>();
  if (referenceExampleIds.length === 0) return runs;
  const selection = { referenceExampleIds, isRoot: true };
  const find: Omit<Find, "after"> = {
    projectIds,
    selection,
    order: "asc",
    limit: 1000,
    payloads: ["outputs", "error"],
  };
  let bytes = 0;
  let after: Find["after"] = null;
  do {
    const page: Awaited<ReturnType<typeof findRuns>> = await findRuns(env, workspaceId, { ...find, after });
    for (const run of page.runs) {
      runs.set(run.id, run);
      bytes += (run.outputs?.length ?? 0) + (run.error?.length ?? 0);
    }
    if (bytes > PAGE_BYTES) throw new Problem(413, "The outputs are too large for one answer. Use a smaller limit.");
    after = page.next;
  } while (after);
  return runs;
}

/** Null for an example that is no longer in the dataset. */
function toWireExample(row: ExampleRow | undefined): object | null {
  if (!row) return null;
  const body = (name: "inputs" | "outputs"): unknown => {
    const hash = row[`${name}Hash`];
    const text = hash ? placeholder(name, blobKey(row, hash)) : row[name];
    return text === null ? null : parseJson(text);
  };
  return { id: row.id, inputs: body("inputs"), outputs: body("outputs"), metadata: row.metadata };
}

function toWireRun(run: QueriedRun): object {
  return {
    id: run.id,
    trace_id: run.trace_id,
    status: run.status,
    start_time: isoFromMicros(run.start_time),
    latency: run.end_time === null ? null : Math.max(0, run.end_time - run.start_time) / 1e6,
    outputs: run.outputs === null ? null : parseJson(run.outputs),
    error: run.error,
    total_tokens: run.total_tokens ?? 0,
    total_cost: run.total_cost,
    feedback_stats: run.feedback_stats === null ? {} : parseJson(run.feedback_stats),
  };
}

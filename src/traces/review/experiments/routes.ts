/** `GET /datasets/{id}/compare`: experiments side by side, with what improved and what regressed. */
import { Count, Id, Time } from "../../../http/shapes.ts";
import { type Context, Hono } from "hono";
import { openBlobs } from "../../../access/encryption/blobs.ts";
import * as v from "valibot";
import { requirePermission } from "../../../access/auth/roles.ts";
import { database } from "../../../db/client.ts";
import { createDoc } from "../../../http/route.ts";
import { Uuid, whole } from "../../../http/shapes.ts";
import { Problem } from "../../../lib/problem.ts";
import type { App } from "../../../http/context.ts";
import { param, query } from "../../../http/validate.ts";
import { runsAnswer } from "../../query/responses.ts";
import { DurationCounter } from "../../partition/stats/durations.ts";
import type { ProjectRow } from "../../projects/store.ts";
import { listConfigs } from "../feedback/store.ts";
import { listExampleIds } from "../examples/store.ts";
import { roundCost } from "../../../limits/prices/price-list.ts";
import { existingDataset, existingExperiments } from "../../datasets/existing.ts";
import {
  type ComparedRun,
  compareRuns,
  hasChange,
  meanScores,
  type Row,
  sortByChange,
} from "../../datasets/compare/compare.ts";
import { ComparedRow, pageRows, Scores } from "./compare.ts";
import { experimentRuns } from "../../datasets/compare/runs.ts";

const doc = createDoc("Experiments");

const MOST_EXPERIMENTS = 5;
const MOST_EXAMPLES = 10_000;
const MOST_CONFIGS = 1_000;

const DatasetId = v.object({ dataset_id: Uuid });
const Compare = v.object({
  experiment: v.pipe(
    v.union([v.string(), v.array(v.string())]),
    v.transform((given) => [...new Set([given].flat())]),
    v.array(Uuid),
    v.maxLength(MOST_EXPERIMENTS, `names at most ${MOST_EXPERIMENTS} experiments`),
  ),
  change: v.optional(v.picklist(["improved", "regressed"])),
  key: v.optional(v.pipe(v.string(), v.maxLength(180))),
  sort: v.optional(v.picklist(["example", "change"]), "example"),
  limit: v.optional(whole(1, 50), "20"),
  offset: v.optional(whole(0), "0"),
});

const Changes = v.record(v.string(), Count);
const Summary = v.object({
  id: Id,
  name: v.string(),
  start_time: Time,
  run_count: Count,
  error_count: Count,
  latency_p50: v.nullable(v.number()),
  total_tokens: Count,
  total_cost: v.number(),
  scores: Scores,
  improved: Changes,
  regressed: Changes,
  newly_failed: Count,
});
const Comparison = v.object({
  dataset_id: Id,
  experiments: v.array(Summary),
  total: Count,
  rows: v.array(ComparedRow),
});

export const compare = new Hono<App>().get(
  "/datasets/:dataset_id/compare",
  doc("Compare experiments example by example; the first is the baseline", Comparison),
  param(DatasetId),
  query(Compare),
  async (c) => {
    requirePermission(c.get("principal"), "traces.read");
    const dataset = await existingDataset(c, c.req.valid("param").dataset_id);
    const { experiment: ids, change, key, sort, limit, offset } = c.req.valid("query");
    const experiments = await existingExperiments(c, dataset.id, ids);
    const runs: ComparedRun[][] = [];
    for (const { id } of experiments) runs.push(await experimentRuns(c.env, dataset.workspaceId, id));
    const exampleIds = await allExampleIds(c, dataset.id, runs);
    const rows = compareRuns(exampleIds, runs, await lowerIsBetter(c));
    const wanted = change === undefined ? [...rows] : rows.filter((row) => hasChange(row, change, key));
    if (sort === "change") sortByChange(wanted, key);
    const page = wanted.slice(offset, offset + limit);
    const shown = await pageRows(c.env, dataset, ids, page);
    const summaries = experiments.map((row, index) => summary(row, runs[index] ?? [], rows, index));
    return runsAnswer(openBlobs(c.env), {
      dataset_id: dataset.id,
      experiments: summaries,
      total: wanted.length,
      rows: shown,
    });
  },
);

/** The dataset's examples, newest first, then those that runs refer to and that are no longer in the dataset. */
async function allExampleIds(c: Context<App>, datasetId: string, runs: ComparedRun[][]): Promise<string[]> {
  const { workspaceId } = c.get("principal");
  const current = await listExampleIds(database(c.env.DB), workspaceId, datasetId, MOST_EXAMPLES + 1);
  const all = new Set([...current, ...runs.flat().map(({ exampleId }) => exampleId)]);
  if (current.length > MOST_EXAMPLES) {
    throw new Problem(422, `A dataset of more than ${MOST_EXAMPLES} examples cannot be compared. Use an export.`);
  }
  return [...all];
}

/** The keys of feedback whose configuration says that a lower score is better. */
async function lowerIsBetter(c: Context<App>): Promise<Set<string>> {
  const { workspaceId } = c.get("principal");
  const configs = await listConfigs(database(c.env.DB), workspaceId, { limit: MOST_CONFIGS, offset: 0 });
  return new Set(configs.flatMap(({ key, isLowerScoreBetter }) => (isLowerScoreBetter ? [key] : [])));
}

function summary(row: ProjectRow, runs: ComparedRun[], rows: Row[], index: number): v.InferOutput<typeof Summary> {
  const results = rows.flatMap(({ results: all }) => all[index] ?? []);
  const count = (keys: string[]) => {
    const counts = new Map<string, number>();
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
    return Object.fromEntries(counts);
  };
  const latencies = new DurationCounter();
  for (const { latency } of runs) if (latency !== null) latencies.add(latency);
  return {
    id: row.id,
    name: row.name,
    start_time: new Date(row.startTime).toISOString(),
    run_count: runs.length,
    error_count: runs.filter(({ failed }) => failed).length,
    latency_p50: latencies.secondsAt(0.5),
    total_tokens: runs.reduce((sum, { tokens }) => sum + tokens, 0),
    total_cost: roundCost(runs.reduce((sum, { cost }) => sum + cost, 0)),
    scores: meanScores(runs),
    improved: count(results.flatMap(({ improved }) => improved)),
    regressed: count(results.flatMap(({ regressed }) => regressed)),
    newly_failed: results.filter(({ newlyFailed }) => newlyFailed).length,
  };
}

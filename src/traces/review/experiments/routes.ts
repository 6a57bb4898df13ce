/** `GET /datasets/{id}/compare`: experiments side by side, with what improved and what regressed. */
import {
  Count,
  Id,
  Time,
  Uuid,
  whole,
  AnyObject,
  ResultMessage,
  Time as TimeText,
  choosing,
  many,
  optional,
  pagingQuery,
} from "../../../http/shapes.ts";
import { type Context, Hono } from "hono";
import { openSealedBlobs } from "../../../access/encryption/blobs.ts";
import * as v from "valibot";
import { requirePermission } from "../../../access/auth/roles.ts";
import { database } from "../../../db/client.ts";
import { createDoc } from "../../../http/route.ts";
import { Problem } from "../../../lib/problem.ts";
import { type App, newOrEarlier } from "../../../http/context.ts";
import { param, query, body } from "../../../http/validate.ts";
import { runsResponse } from "../../query/responses.ts";
import { DurationCounter } from "../../partition/stats/durations.ts";
import type { ProjectRow } from "../../projects/store.ts";
import { listConfigs } from "../feedback/store.ts";
import { listExampleIds } from "../examples/store.ts";
import { roundCost } from "../../../limits/prices/price-list.ts";
import { existingDataset, existingExperiments, knownExperiments } from "../datasets/store.ts";
import {
  type ComparedRun,
  compareRuns,
  hasChange,
  meanScores,
  type ComparisonRow,
  sortByChange,
  ComparedRow,
  pageRows,
  Scores,
} from "./compare.ts";
import { experimentRuns } from "./rows.ts";
import { audit } from "../../../access/audit/record.ts";
import { maxBytes, METADATA_BYTES } from "../../../lib/bytes.ts";
import { JsonMembers } from "../../../lib/json.ts";
import { Time as GivenTime } from "../../time.ts";
import { type ComparativeRow, deleteComparative, insertComparative, listComparatives } from "./store.ts";

const doc = createDoc("Experiments");

const MAX_EXPERIMENTS = 5;
const MAX_EXAMPLES = 10_000;
const MAX_CONFIGS = 1_000;

const DatasetId = v.object({ dataset_id: Uuid });
const Compare = v.object({
  experiment: v.pipe(
    v.union([v.string(), v.array(v.string())]),
    v.transform((given) => [...new Set([given].flat())]),
    v.array(Uuid),
    v.maxLength(MAX_EXPERIMENTS, `names at most ${MAX_EXPERIMENTS} experiments`),
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
    return runsResponse(openSealedBlobs(c.env), {
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
  const current = await listExampleIds(database(c.env.DB), workspaceId, datasetId, MAX_EXAMPLES + 1);
  const all = new Set([...current, ...runs.flat().map(({ exampleId }) => exampleId)]);
  if (current.length > MAX_EXAMPLES) {
    throw new Problem(422, `A dataset of more than ${MAX_EXAMPLES} examples cannot be compared. Use an export.`);
  }
  return [...all];
}

/** The keys of feedback whose configuration says that a lower score is better. */
async function lowerIsBetter(c: Context<App>): Promise<Set<string>> {
  const { workspaceId } = c.get("principal");
  const configs = await listConfigs(database(c.env.DB), workspaceId, { limit: MAX_CONFIGS, offset: 0 });
  return new Set(configs.flatMap(({ key, isLowerScoreBetter }) => (isLowerScoreBetter ? [key] : [])));
}

function summary(
  row: ProjectRow,
  runs: ComparedRun[],
  rows: ComparisonRow[],
  index: number,
): v.InferOutput<typeof Summary> {
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

// Comparisons that `evaluateComparative` of the SDKs creates. Feedback names them as `comparative_experiment_id`.

const comparativeDoc = createDoc("Experiments");

const ComparativeExperiment = v.pipe(
  v.object({
    id: Id,
    tenant_id: v.string(),
    name: v.nullable(v.string()),
    description: v.nullable(v.string()),
    reference_dataset_id: Id,
    created_at: TimeText,
    modified_at: TimeText,
    experiments_info: v.array(v.object({ id: Id, name: v.string() })),
    extra: AnyObject,
  }),
  v.title("ComparativeExperiment"),
);

const CreateComparative = v.looseObject({
  id: optional(Uuid),
  name: optional(v.pipe(v.string(), v.maxLength(500, "must be at most 500 characters"))),
  description: optional(v.pipe(v.string(), v.maxLength(10_000, "must be at most 10000 characters"))),
  experiment_ids: v.pipe(v.array(Uuid), v.minLength(1), v.maxLength(100)),
  reference_dataset_id: Uuid,
  created_at: optional(GivenTime),
  extra: optional(v.pipe(JsonMembers, maxBytes(METADATA_BYTES))),
});
const ListComparatives = choosing({ id: many(Uuid), name: v.optional(v.string()), ...pagingQuery(100) });

const ComparativeId = v.object({ comparative_experiment_id: Uuid });

export const comparativeExperiments = new Hono<App>()
  .post(
    "/datasets/comparative",
    comparativeDoc("Create a comparison of experiments", ComparativeExperiment),
    body(CreateComparative),
    async (c) => {
      const given = c.req.valid("json");
      const { id: datasetId, workspaceId } = await existingDataset(c, given.reference_dataset_id);
      await existingExperiments(c, datasetId, given.experiment_ids);
      const db = database(c.env.DB);
      const { id, earlier } = await newOrEarlier(c, async (one) => {
        return (await listComparatives(db, workspaceId, datasetId, { id: [one], limit: 1, offset: 0 }))[0];
      });
      if (earlier) return c.json(await toWire(c, earlier));
      const now = Date.now();
      const made = await insertComparative(db, {
        id: given.id ?? id,
        workspaceId,
        name: given.name ?? null,
        description: given.description ?? null,
        datasetId,
        experimentIds: given.experiment_ids,
        extra: given.extra ?? {},
        createdAt: given.created_at === undefined ? now : Math.floor(given.created_at / 1000),
        modifiedAt: now,
      });
      if (!made) throw new Problem(409, "A comparison with this id exists.");
      return c.json(await toWire(c, made));
    },
  )
  .get(
    "/datasets/:dataset_id/comparative",
    comparativeDoc("List comparisons of experiments, newest first", v.array(ComparativeExperiment)),
    param(DatasetId),
    query(ListComparatives),
    async (c) => {
      const { id, workspaceId } = await existingDataset(c, c.req.valid("param").dataset_id);
      const rows = await listComparatives(database(c.env.DB), workspaceId, id, c.req.valid("query"));
      return c.json(await Promise.all(rows.map((row) => toWire(c, row))));
    },
  )
  .delete(
    "/datasets/comparative/:comparative_experiment_id",
    comparativeDoc("Delete a comparison of experiments", ResultMessage),
    param(ComparativeId),
    async (c) => {
      const { comparative_experiment_id: id } = c.req.valid("param");
      const gone = await deleteComparative(database(c.env.DB), c.get("principal").workspaceId, id);
      if (!gone) throw new Problem(404, "Comparison not found.");
      await audit(c, { action: "comparison.deleted", targetId: id });
      return c.json({ message: "Comparison deleted" });
    },
  );

async function toWire(c: Context<App>, row: ComparativeRow): Promise<v.InferOutput<typeof ComparativeExperiment>> {
  const experiments = await knownExperiments(c, row.datasetId, row.experimentIds);
  return {
    id: row.id,
    tenant_id: row.workspaceId,
    name: row.name,
    description: row.description,
    reference_dataset_id: row.datasetId,
    created_at: new Date(row.createdAt).toISOString(),
    modified_at: new Date(row.modifiedAt).toISOString(),
    experiments_info: experiments.map(({ id, name }) => ({ id, name })),
    extra: row.extra,
  };
}

/** The examples of a dataset, page by page, in the order in which a table of experiments shows them. */
import { isObject, parseJson } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { eachRun, checkSelection } from "../../query/find.ts";
import { compareFigures, type RankPosition } from "../../rpc.ts";
import type { QueriedRun, LargeField } from "../../types.ts";
import { type ComparedRun, meanScores } from "./compare.ts";
import { type Database, database } from "../../../db/client.ts";
import { type ExampleRow, findExamples, listExampleIds, listExamples } from "../examples/store.ts";
import type { DatasetRow } from "../datasets/store.ts";

// The root runs of experiments, reduced to what is compared.

/** The most runs of an experiment. A compared run takes about 500 bytes of memory. */
const MAX_RUNS = 10_000;
const PAGE = 1_000;

/** The root runs of an experiment that refer to an example. @throws Problem 422 when there are too many */
export async function experimentRuns(env: Env, workspaceId: string, projectId: string): Promise<ComparedRun[]> {
  const compared: ComparedRun[] = [];
  const find = {
    projectIds: [projectId],
    selection: { isRoot: true },
    order: "asc" as const,
    limit: PAGE,
    payloads: [],
  };
  for await (const run of eachRun(env, workspaceId, find)) {
    compared.push(...comparedRun(run));
    if (compared.length > MAX_RUNS)
      throw new Problem(422, `An experiment of more than ${MAX_RUNS} runs cannot be compared. Use an export.`);
  }
  return compared;
}

function comparedRun(run: QueriedRun): ComparedRun[] {
  if (run.reference_example_id === null) return [];
  return [
    {
      id: run.id,
      exampleId: run.reference_example_id,
      startTime: run.start_time,
      failed: run.status === "error",
      latency: run.end_time === null ? null : Math.max(0, run.end_time - run.start_time),
      tokens: run.total_tokens ?? 0,
      cost: run.total_cost ?? 0,
      scores: readScores(run.feedback_stats),
    },
  ];
}

function readScores(feedbackStats: string | null): Record<string, number> {
  const stats = feedbackStats === null ? undefined : parseJson(feedbackStats);
  if (!isObject(stats)) return {};
  return Object.fromEntries(
    Object.entries(stats).flatMap(([key, sum]) =>
      isObject(sum) && typeof sum["avg"] === "number" ? [[key, sum["avg"]]] : [],
    ),
  );
}

export interface ExperimentRowQuery {
  experimentIds: string[];
  exampleIds?: string[] | undefined;
  /** Filters of runs, by experiment. */
  filters: Record<string, string[]>;
  sort?: { key: string; ascending: boolean } | undefined;
  limit: number;
  offset: number;
  /** Where the previous page ended: with `sort` a score, else a time of creation. */
  after: RankPosition | null;
}

export interface RowPage {
  rows: ExampleRow[];
  next: RankPosition | null;
  /** The runs that match, of each experiment that has filters. */
  matching: Map<string, Set<string>>;
}

/** The most runs of an experiment that a filter may match. */
const MAX_MATCHES = 10_000;

/**
 * A page of examples, newest first or by score. Filters leave the examples that have a matching run in every experiment with
 * filters. @throws Problem 422
 */
export async function pageOfRows(env: Env, dataset: DatasetRow, wanted: ExperimentRowQuery): Promise<RowPage> {
  const db = database(env.DB);
  const found = await findMatches(env, dataset.workspaceId, wanted);
  const matching = new Map([...found].map(([id, runs]) => [id, new Set(runs.keys())]));
  const lists = [...found.values()].map((runs) => new Set(runs.values()));
  const given = wanted.exampleIds && [new Set(wanted.exampleIds)];
  const [first, ...others] = [...(given ?? []), ...lists];
  const among = first && [...first].filter((id) => others.every((list) => list.has(id)));
  if (wanted.sort) return { ...(await rankRows(env, dataset, wanted, wanted.sort, among)), matching };
  const rows = await listExamples(db, dataset.workspaceId, {
    dataset: dataset.id,
    ...(among && { id: among }),
    ...(wanted.after && { after: { createdAt: wanted.after.figure ?? 0, id: wanted.after.id } }),
    limit: wanted.limit + 1,
    offset: wanted.offset,
  });
  const shown = rows.slice(0, wanted.limit);
  const last = shown.at(-1);
  const next = last && rows.length > shown.length ? { figure: last.createdAt, id: last.id } : null;
  return { rows: shown, next, matching };
}

/** The runs that match each experiment's filters, with their examples. */
async function findMatches(env: Env, workspaceId: string, { experimentIds, filters }: ExperimentRowQuery) {
  const found = new Map<string, Map<string, string>>();
  for (const [id, own] of Object.entries(filters)) {
    if (!experimentIds.includes(id)) throw new Problem(422, "Invalid body.filters: an experiment is not in the list.");
    if (own.length === 0) continue;
    for (const filter of own) checkSelection({ filter });
    const filter = own.length === 1 ? own[0] : `and(${own.join(", ")})`;
    const runs = new Map<string, string>();
    const selection = { isRoot: true, filter };
    const find = { projectIds: [id], selection, order: "asc" as const, limit: PAGE, payloads: [] };
    for await (const run of eachRun(env, workspaceId, find)) {
      if (run.reference_example_id !== null) runs.set(run.id, run.reference_example_id);
      if (runs.size > MAX_MATCHES) throw new Problem(422, `A filter matches more than ${MAX_MATCHES} runs.`);
    }
    found.set(id, runs);
  }
  return found;
}

/** By score; examples without one come last. */
async function rankRows(
  env: Env,
  dataset: DatasetRow,
  { experimentIds, limit, after }: ExperimentRowQuery,
  { key, ascending }: NonNullable<ExperimentRowQuery["sort"]>,
  among: string[] | undefined,
) {
  const [experimentId, ...others] = experimentIds;
  if (experimentId === undefined || others.length > 0)
    throw new Problem(422, "Invalid body.sort: give one experiment in experiment_ids.");
  const runs = await experimentRuns(env, dataset.workspaceId, experimentId);
  const scores = [...Map.groupBy(runs, ({ exampleId }) => exampleId)].flatMap(([id, group]) => {
    const score = meanScores(group)[key];
    return score === undefined ? [] : [[id, score] as const];
  });
  const all = among ?? (await listIds(database(env.DB), dataset));
  const scoreOf = new Map(scores);
  // Examples without a score come last, in either order.
  const place = (id: string): RankPosition => ({ figure: scoreOf.get(id) ?? null, id });
  const compare = (a: RankPosition, b: RankPosition) =>
    compareFigures(ascending ? "asc" : "desc", a.figure, b.figure) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
  const order = all.map(place).sort(compare);
  const behind = after ? order.filter((one) => compare(one, after) > 0) : order;
  const ids = behind.slice(0, limit).map(({ id }) => id);
  const found = await findExamples(database(env.DB), dataset.workspaceId, ids);
  const byId = new Map(found.filter(({ datasetId }) => datasetId === dataset.id).map((row) => [row.id, row]));
  const last = behind[ids.length - 1];
  return {
    rows: ids.flatMap((id) => byId.get(id) ?? []),
    next: last && behind.length > ids.length ? last : null,
  };
}

/** The most examples of a dataset that are sorted. */
const MAX_SORTED = 10_000;

async function listIds(db: Database, { workspaceId, id }: DatasetRow): Promise<string[]> {
  const ids = await listExampleIds(db, workspaceId, id, MAX_SORTED + 1);
  if (ids.length > MAX_SORTED) throw new Problem(422, `More than ${MAX_SORTED} examples cannot be sorted.`);
  return ids;
}

// The runs of experiments on a page of examples.

/** The most bytes of the payloads of a page that are held at once. Payloads in R2 do not count. */
export const PAGE_BYTES = 12 * 1024 * 1024;

export interface ExperimentRunQuery {
  experimentIds: string[];
  payloads: LargeField[];
  values: LargeField[];
}

/** The root runs by example, in the order of the experiments. Undefined when they are larger than `PAGE_BYTES`. */
export async function runsOfRows(
  env: Env,
  workspaceId: string,
  { rows, matching }: RowPage,
  { experimentIds, payloads, values }: ExperimentRunQuery,
): Promise<Map<string, QueriedRun[]> | undefined> {
  const runs: QueriedRun[] = [];
  if (rows.length === 0) return new Map();
  const selection = { referenceExampleIds: rows.map(({ id }) => id), isRoot: true };
  const find = { projectIds: experimentIds, selection, order: "asc" as const, limit: PAGE, payloads, values };
  let bytes = 0;
  for await (const run of eachRun(env, workspaceId, find)) {
    if (matching.get(run.session_id)?.has(run.id) === false) continue;
    runs.push(run);
    for (const name of payloads) bytes += run[name]?.length ?? 0;
    if (bytes > PAGE_BYTES) return undefined;
  }
  const place = (run: QueriedRun) => experimentIds.indexOf(run.session_id);
  runs.sort((a, b) => place(a) - place(b));
  return Map.groupBy(runs, (run) => run.reference_example_id ?? "");
}

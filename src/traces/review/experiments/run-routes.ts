/** Examples with the runs of experiments on them: `/datasets/{id}/runs`, and its second generation. */
import * as v from "valibot";
import { choosing, Offset, optional, Uuid, selectableList } from "../../../http/shapes.ts";
import { type Context, Hono } from "hono";
import { requirePermission } from "../../../access/auth/roles.ts";
import { database } from "../../../db/client.ts";
import { openSealedBlobs } from "../../../access/encryption/blobs.ts";
import { createDoc } from "../../../http/route.ts";
import { serverAddress, type App } from "../../../http/context.ts";
import { Problem } from "../../../lib/problem.ts";
import { body, param } from "../../../http/validate.ts";
import { runsResponse, readRankCursor, writeRankCursor } from "../../query/responses.ts";
import {
  readContext,
  NAMES_V1,
  payloadNames,
  runV1,
  runV2,
  type ShapeContext,
  valuePayloads,
  Run,
  SelectedRun,
} from "../../query/row.ts";
import { selectPayloads } from "../../query/find.ts";
import { parseSelects } from "../../query/routes-v2.ts";
import type { QueriedRun } from "../../types.ts";
import { listComparatives } from "./store.ts";
import { Example, exampleValue } from "../examples/row.ts";
import { DatasetId } from "../examples/schema.ts";
import { existingDataset, existingExperiments, type DatasetRow } from "../datasets/store.ts";
import {
  pageOfRows,
  type RowPage,
  type ExperimentRowQuery,
  PAGE_BYTES,
  type ExperimentRunQuery,
  runsOfRows,
} from "./rows.ts";

/** Each experiment with a filter takes a search of its own. */
const MAX_EXPERIMENTS = 20;
const Experiments = v.pipe(
  v.array(Uuid),
  v.minLength(1, "names at least one experiment"),
  v.maxLength(MAX_EXPERIMENTS, `names at most ${MAX_EXPERIMENTS} experiments`),
  v.transform((ids) => [...new Set(ids)]),
);
const Filter = v.pipe(v.string(), v.minLength(1), v.maxLength(20_000));
/** Filters of runs, by experiment. A run must match all of its experiment's. */
const Filters = v.record(Uuid, v.pipe(v.array(Filter), v.maxLength(20)));
/** The most examples of a page. */
const limit = optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100)));

/** As `get_experiment_results` of the Python SDK sends it. */
export const QueryRows = choosing({
  session_ids: Experiments,
  offset: optional(Offset),
  limit,
  /** Only the beginnings of the runs' inputs and outputs. */
  preview: optional(v.boolean()),
  comparative_experiment_id: optional(Uuid),
  filters: optional(Filters),
});

export const QueryRowsV2 = choosing({
  experiment_ids: Experiments,
  example_ids: optional(v.pipe(v.array(Uuid), v.maxLength(1000))),
  selects: optional(v.pipe(v.array(v.string()), v.maxLength(200))),
  comparative_experiment_id: optional(Uuid),
  filters: optional(Filters),
  /** By the mean score of a key of feedback in the one experiment. */
  sort: optional(
    choosing({
      by: v.pipe(v.string(), v.minLength(1), v.maxLength(200)),
      order: optional(v.pipe(v.string(), v.toUpperCase(), v.picklist(["ASC", "DESC"]))),
    }),
  ),
  page_size: limit,
  cursor: optional(v.string()),
});

const doc = createDoc("Experiments");
const SUMMARY = "Examples with the runs of experiments on them";
const Rows = v.array(v.object({ ...Example.entries, runs: selectableList(Run) }));
const RowsV2 = v.object({
  items: v.array(v.object({ ...Example.entries, runs: v.array(SelectedRun) })),
  next_cursor: v.nullable(v.string()),
});
const DEFAULT_FIELDS = 20;

/** What a preview leaves out. */
const HEAVY = new Set(["inputs", "outputs", "extra", "events", "serialized"]);
const PREVIEW = new Set([...NAMES_V1].filter((name) => !HEAVY.has(name)));

export const experimentRows = new Hono<App>().post(
  "/datasets/:dataset_id/runs",
  doc(SUMMARY, Rows),
  param(DatasetId),
  body(QueryRows),
  async (c) => {
    const { session_ids, offset = 0, limit = DEFAULT_FIELDS, preview, ...given } = c.req.valid("json");
    const dataset = await datasetFor(c, c.req.valid("param").dataset_id, session_ids, given.comparative_experiment_id);
    const filters = given.filters ?? {};
    const page = await pageOfRows(c.env, dataset, { experimentIds: session_ids, filters, limit, offset, after: null });
    const select = preview ? PREVIEW : undefined;
    const names = payloadNames(select ?? NAMES_V1);
    const wanted = { experimentIds: session_ids, payloads: selectPayloads(names), values: [] };
    const runs = await runsOfRows(c.env, dataset.workspaceId, page, wanted);
    if (!runs) throw new Problem(413, `The runs are larger than ${PAGE_BYTES} bytes. Use a smaller limit, or preview.`);
    return rowsResponse(
      c,
      page,
      runs,
      (run, context) => runV1(run, select, context),
      (items) => items,
    );
  },
);

export const experimentRowsV2 = new Hono<App>().post(
  "/datasets/:dataset_id/experiment-runs",
  doc(SUMMARY, RowsV2),
  param(DatasetId),
  body(QueryRowsV2),
  async (c) => {
    const {
      experiment_ids,
      example_ids,
      filters = {},
      sort,
      page_size = DEFAULT_FIELDS,
      ...given
    } = c.req.valid("json");
    const { dataset_id } = c.req.valid("param");
    const dataset = await datasetFor(c, dataset_id, experiment_ids, given.comparative_experiment_id);
    const selects = parseSelects(given.selects);
    const payloads = selectPayloads(payloadNames(selects));
    const by = sort ? `${sort.by} ${sort.order ?? "DESC"}` : "created_at";
    const wanted = {
      experimentIds: experiment_ids,
      exampleIds: example_ids,
      filters,
      sort: sort && { key: sort.by.replace(/^feedback\./, ""), ascending: sort.order === "ASC" },
      offset: 0,
      after: readRankCursor(by, given.cursor),
    };
    const runsWanted = { experimentIds: experiment_ids, payloads, values: valuePayloads(selects) };
    const { page, runs } = await findFitting(c.env, dataset, wanted, page_size, runsWanted);
    const next_cursor = writeRankCursor(by, page.next);
    const shown = (run: QueriedRun, context: ShapeContext) => runV2(run, selects, context);
    return rowsResponse(c, page, runs, shown, (items) => ({ items, next_cursor }));
  },
);

/** A page whose runs can be held at once: it is halved until they can. */
async function findFitting(
  env: Env,
  dataset: DatasetRow,
  wanted: Omit<ExperimentRowQuery, "limit">,
  most: number,
  runsWanted: ExperimentRunQuery,
): Promise<{ page: RowPage; runs: Map<string, QueriedRun[]> }> {
  for (let limit = most; limit >= 1; limit = Math.floor(limit / 2)) {
    const page = await pageOfRows(env, dataset, { ...wanted, limit });
    const runs = await runsOfRows(env, dataset.workspaceId, page, runsWanted);
    if (runs) return { page, runs };
  }
  throw new Problem(413, `The runs on one example are larger than ${PAGE_BYTES} bytes. Select fewer fields.`);
}

/** The dataset, whose experiments and comparison must exist. @throws Problem 404 */
async function datasetFor(c: Context<App>, id: string, experimentIds: string[], comparativeId: string | undefined) {
  requirePermission(c.get("principal"), "traces.read");
  const dataset = await existingDataset(c, id);
  await existingExperiments(c, id, experimentIds);
  if (comparativeId === undefined) return dataset;
  const one = { id: [comparativeId], limit: 1, offset: 0 };
  const [found] = await listComparatives(database(c.env.DB), dataset.workspaceId, id, one);
  if (!found) throw new Problem(404, "Comparison not found.");
  return dataset;
}

async function rowsResponse(
  c: Context<App>,
  { rows }: RowPage,
  runs: Map<string, QueriedRun[]>,
  shown: (run: QueriedRun, context: ShapeContext) => object,
  whole: (items: object[]) => object,
): Promise<Response> {
  const origin = serverAddress(c);
  const all = [...runs.values()].flat();
  const context = await readContext(c.env, origin, c.get("principal").workspaceId, all);
  const items = rows.map(async (row) => ({
    ...(await exampleValue(c.env, origin, row)),
    runs: (runs.get(row.id) ?? []).map((run) => shown(run, context)),
  }));
  return runsResponse(openSealedBlobs(c.env), whole(await Promise.all(items)));
}

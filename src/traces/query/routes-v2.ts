/** Reading runs back, second generation: `/api/v2/runs`, `/api/v2/traces`, `/api/v2/threads`. */
import { Count, Time } from "../../http/shapes.ts";
import { type Context, Hono } from "hono";
import { openSealedBlobs } from "../../access/encryption/blobs.ts";
import * as v from "valibot";
import { database } from "../../db/client.ts";
import { createDoc, eitherBody, EVENTS, json } from "../../http/route.ts";
import { serverAddress, type App } from "../../http/context.ts";
import { Problem } from "../../lib/problem.ts";
import { body, param, query } from "../../http/validate.ts";
import { locateRuns } from "../locate.ts";
import { parseFilter } from "../filter/filter.ts";
import type { RunSelection } from "../rpc.ts";
import type { QueriedRun } from "../types.ts";
import { listProjectsOfDataset } from "../projects/store.ts";
import { DAY_MICROS, isoFromMicros } from "../time.ts";
import { roundCost } from "../../limits/prices/price-list.ts";
import { readContext, isOfTree, NAMES_V2, payloadNames, runOfTree, runV2, valuePayloads, SelectedRun } from "./row.ts";
import {
  readCursor,
  writeCursor,
  readThreadCursor,
  writeThreadCursor,
  runsResponse,
  type ResponsePage,
  pageResponse,
} from "./responses.ts";
import {
  checkSelection,
  eachRun,
  type RunFindRequest,
  findRuns,
  type RunFindPage,
  selectPayloads,
  readTree,
} from "./find.ts";
import {
  QueryThreads,
  QueryThreadTraces,
  QueryTraces,
  QueryV2,
  MAX_RUNS_OF_TRACE,
  ReadTrace,
  ReadV2,
  RunId,
  ThreadId,
} from "./schema.ts";
import { compareThreads, listThreads, TracedThread } from "./threads.ts";

/** The most bytes of the payloads of a trace in one answer: all runs are sorted in memory. */
const MAX_TRACE_BYTES = 32 * 1024 * 1024;

const doc = createDoc("Traces");

const next_cursor = v.nullable(v.string());
const RunPageV2 = v.object({ items: v.array(SelectedRun), next_cursor, has_more: v.boolean() });
const Trace = v.object({
  root_run: SelectedRun,
  trace_aggregates: v.object({ total_tokens: Count, total_cost: v.number(), first_token_time: v.optional(Time) }),
});
const TracePage = v.object({ items: v.array(Trace), next_cursor, has_more: v.boolean() });
const ThreadPage = v.object({ items: v.array(TracedThread), next_cursor, complete: v.boolean() });
const TurnPage = v.object({ items: v.array(SelectedRun), next_cursor });

type Query = v.InferOutput<typeof QueryV2>;

export const runQueriesV2 = new Hono<App>()
  .post("/runs/query", doc("Find runs", { 200: eitherBody(json(RunPageV2), EVENTS[200]) }), body(QueryV2), async (c) =>
    pageResponse(c, await readPage(c, c.req.valid("json"), {})),
  )
  .post(
    "/traces/query",
    doc("Find traces by their root runs", { 200: eitherBody(json(TracePage), EVENTS[200]) }),
    body(QueryTraces),
    async (c) => {
      const { project_id, trace_ids, filter, ...wanted } = c.req.valid("json");
      const project_ids = project_id ? [project_id, ...(wanted.project_ids ?? [])] : wanted.project_ids;
      // The root of a trace can have another id than the trace.
      const among = trace_ids && `in(trace_id, ${JSON.stringify(trace_ids)})`;
      const joined = among && filter ? `and(${among}, ${filter})` : (among ?? filter);
      if (filter) parseFilter(filter);
      const query = { ...wanted, project_ids, filter: joined };
      return pageResponse(c, await readPage(c, query, { isRoot: true }, toWireTrace));
    },
  )
  .get("/runs/:run_id", doc("Read a run", SelectedRun), param(RunId), query(ReadV2), async (c) => {
    const { workspaceId } = c.get("principal");
    const { run_id: id } = c.req.valid("param");
    const { project_id: projectId, start_time: _, ...given } = c.req.valid("query");
    const selects = parseSelects(given.selects ?? given["selects[]"]);
    const location = (await locateRuns(c.env, database(c.env.DB), workspaceId, [id], projectId)).get(id);
    const selection = { ids: [id] };
    const found = location
      ? await find(c.env, workspaceId, [location.projectId], selection, selects, { limit: 1 })
      : undefined;
    const run = found?.runs[0];
    if (!run) throw new Problem(404, "Run not found.");
    return runsResponse(
      openSealedBlobs(c.env),
      runV2(run, selects, await readContext(c.env, serverAddress(c), workspaceId, [run])),
    );
  })
  .get(
    "/traces/:run_id/runs",
    doc("The runs of a trace", v.object({ items: v.array(SelectedRun) })),
    param(RunId),
    query(ReadTrace),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const { project_id, page_size, filter, min_start_time, max_start_time, ...given } = c.req.valid("query");
      const selects = parseSelects(given.selects ?? given["selects[]"]);
      const traceId = c.req.valid("param").run_id;
      // The upper bound of a trace's runs is inclusive.
      const endTime = max_start_time === undefined ? undefined : max_start_time + 1;
      const selection = { traceId, filter, startTime: min_start_time, endTime };
      checkSelection(selection);
      const isWhole = filter === undefined && min_start_time === undefined && endTime === undefined;
      if (isWhole && isOfTree(selects)) {
        const tree = await readTree(c.env, workspaceId, project_id ? [project_id] : [], traceId, page_size);
        return c.json({ items: tree.map((run) => runOfTree(run, selects)) });
      }
      const runs: RunFindPage["runs"] = [];
      const wanted = { projectIds: project_id ? [project_id] : [], selection, order: "asc" as const, limit: 1000 };
      const payloads = selectPayloads(payloadNames(selects));
      let bytes = 0;
      for await (const run of eachRun(c.env, workspaceId, { ...wanted, payloads, values: valuePayloads(selects) })) {
        runs.push(run);
        for (const name of payloads) bytes += run[name]?.length ?? 0;
        if (bytes > MAX_TRACE_BYTES)
          throw new Problem(413, `The runs are larger than ${MAX_TRACE_BYTES} bytes. Select fewer fields.`);
        if (runs.length === MAX_RUNS_OF_TRACE) break;
      }
      const context = await readContext(c.env, serverAddress(c), workspaceId, runs);
      runs.sort((a, b) => (a.dotted_order < b.dotted_order ? -1 : 1));
      return runsResponse(openSealedBlobs(c.env), {
        items: runs.slice(0, page_size).map((run) => runV2(run, selects, context)),
      });
    },
  )
  .post(
    "/threads/query",
    doc("Threads of a project", { 200: eitherBody(json(ThreadPage), EVENTS[200]) }),
    body(QueryThreads),
    async (c) => {
      const {
        project_id,
        filter,
        trace_filter,
        tree_filter,
        min_start_time,
        max_start_time,
        page_size = 100,
        cursor,
      } = c.req.valid("json");
      const after = readThreadCursor(cursor);
      const selection = {
        filter,
        traceFilter: trace_filter,
        treeFilter: tree_filter,
        startTime: min_start_time ?? after?.from ?? dayAgo(),
        endTime: max_start_time,
      };
      checkSelection(selection);
      const { workspaceId } = c.get("principal");
      const { threads, complete } = await listThreads(c.env, workspaceId, project_id, selection, "min_start_time");
      const place = (one: (typeof threads)[number]): [string, string] => [one.min_start_time, one.thread_id];
      const left = after
        ? threads.filter((one) => compareThreads(place(one), [after.minStart, after.id]) > 0)
        : threads;
      const items = left.slice(0, page_size);
      const last = left.length > items.length ? items.at(-1) : undefined;
      const next_cursor = last
        ? writeThreadCursor({ from: selection.startTime, minStart: last.min_start_time, id: last.thread_id })
        : null;
      return pageResponse(c, { items, next_cursor, complete });
    },
  )
  .get(
    "/threads/:thread_id/traces",
    doc("The turns of a thread, oldest first", TurnPage),
    param(ThreadId),
    query(QueryThreadTraces),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const { project_id, filter, trace_filter, tree_filter, cursor, page_size = 100, ...given } = c.req.valid("query");
      const selects = parseSelects(given.selects ?? given["selects[]"]);
      const { thread_id: threadId } = c.req.valid("param");
      const selection = { threadId, isRoot: true, filter, traceFilter: trace_filter, treeFilter: tree_filter };
      checkSelection(selection);
      const page = { limit: page_size, order: "asc", after: readCursor(cursor) } as const;
      const found = await find(c.env, workspaceId, [project_id], selection, selects, page);
      const context = await readContext(c.env, serverAddress(c), workspaceId, found.runs);
      const items = found.runs.map((run) => ({ trace_id: run.trace_id, ...runV2(run, selects, context) }));
      return runsResponse(openSealedBlobs(c.env), { items, next_cursor: writeCursor(found.next) });
    },
  );

/** A trace as the SDKs read it: its root, and sums that include all runs below it. */
function toWireTrace(shown: object, { total_tokens, total_cost, first_token_time }: QueriedRun): object {
  const first = first_token_time === null ? undefined : isoFromMicros(first_token_time);
  const trace_aggregates = {
    total_tokens: total_tokens ?? 0,
    total_cost: roundCost(total_cost ?? 0),
    first_token_time: first,
  };
  return { root_run: shown, trace_aggregates };
}

async function readPage(
  c: Context<App>,
  wanted: Query,
  more: RunSelection,
  toItem: (shown: object, run: QueriedRun) => object = (shown) => shown,
): Promise<ResponsePage> {
  const { workspaceId } = c.get("principal");
  const selection: RunSelection = {
    ids: wanted.ids,
    traceId: wanted.trace_id,
    runType: wanted.run_type?.toLowerCase(),
    referenceExampleIds: wanted.reference_examples,
    isRoot: wanted.is_root,
    hasError: wanted.has_error,
    // One day back, unless the caller names what cannot be many.
    startTime: wanted.min_start_time ?? (wanted.ids || wanted.trace_id ? undefined : dayAgo()),
    endTime: wanted.max_start_time,
    filter: wanted.filter,
    traceFilter: wanted.trace_filter,
    treeFilter: wanted.tree_filter,
    ...more,
  };
  checkSelection(selection);
  const projectIds = await findProjects(c.env, workspaceId, wanted);
  const selects = parseSelects(wanted.selects);
  const order = wanted.sort_order?.toLowerCase() === "asc" ? "asc" : "desc";
  const page = { limit: wanted.page_size ?? 100, order, after: readCursor(wanted.cursor) } as const;
  const found = await find(c.env, workspaceId, projectIds, selection, selects, page);
  const context = await readContext(c.env, serverAddress(c), workspaceId, found.runs);
  const items = found.runs.map((run) => toItem(runV2(run, selects, context), run));
  return { items, next_cursor: writeCursor(found.next), has_more: found.next !== null };
}

async function findProjects(
  env: Env,
  workspaceId: string,
  { project_ids = [], reference_dataset_id, ids, trace_id }: Query,
) {
  if (reference_dataset_id === undefined) {
    if (project_ids.length > 0 || ids || trace_id) return project_ids;
    throw new Problem(400, "Give project_ids, reference_dataset_id, ids or trace_id.");
  }
  const experiments = await listProjectsOfDataset(database(env.DB), workspaceId, reference_dataset_id);
  // An unknown dataset has no projects. The nil id means none, because an empty list would mean all.
  return experiments.length > 0 ? experiments.map(({ id }) => id) : ["00000000-0000-0000-0000-000000000000"];
}

async function find(
  env: Env,
  workspaceId: string,
  projectIds: string[],
  selection: RunSelection,
  selects: Set<string>,
  page: { limit: number; order?: "asc" | "desc"; after?: RunFindRequest["after"] },
): Promise<RunFindPage> {
  const { limit, order = "desc", after = null } = page;
  const payloads = selectPayloads(payloadNames(selects));
  const values = valuePayloads(selects);
  return findRuns(env, workspaceId, { projectIds, selection, order, after, limit, payloads, values });
}

/** The selected fields, in lower case. @throws Problem 422 for a name that is no field */
export function parseSelects(given: string | string[] | undefined): Set<string> {
  const names = [given ?? []].flat().flatMap((name) => name.split(","));
  const selects = names.map((name) => name.trim().toLowerCase()).filter((name) => name !== "");
  const unknown = selects.find((name) => !NAMES_V2.has(name) && name !== "op" && name !== "latency");
  if (unknown) throw new Problem(422, `Invalid selects: ${JSON.stringify(unknown.slice(0, 40))} is no field of a run.`);
  return new Set(selects);
}

function dayAgo(): number {
  return Date.now() * 1000 - DAY_MICROS;
}

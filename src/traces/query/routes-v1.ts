/** Reading runs back, first generation: `/runs/query`, `/runs/{id}`, `/runs/stats`, `/runs/group`. */
import { AnyObject, Count, selectableList } from "../../http/shapes.ts";
import { Hono } from "hono";
import { openSealedBlobs } from "../../access/encryption/blobs.ts";
import * as v from "valibot";
import { database } from "../../db/client.ts";
import { createDoc } from "../../http/route.ts";
import { serverAddress, type App } from "../../http/context.ts";
import { Problem } from "../../lib/problem.ts";
import { body, param, query } from "../../http/validate.ts";
import { parseFilter } from "../filter/filter.ts";
import { locateRuns } from "../locate.ts";
import type { RunSelection } from "../rpc.ts";
import { tracePartition } from "../stub.ts";
import { LARGE_FIELDS } from "../types.ts";
import { DAY_MICROS, HOUR_MICROS } from "../time.ts";
import { readContext, NAMES_V1, payloadNames, runV1, Run } from "./row.ts";
import { readCursor, readRankCursor, writeCursor, writeRankCursor, runsResponse } from "./responses.ts";
import {
  checkSelection,
  type RunFindRequest,
  findRuns,
  selectPayloads,
  type RankFindRequest,
  rankOverPartitions,
} from "./find.ts";
import { messagesOfRun } from "./messages.ts";
import { FindRunsBody, GroupRuns, QueryV1, ReadV1, RunId, SeriesQuery } from "./schema.ts";
import { runSeries, RunSeries, projectStats, RunStats } from "./stats.ts";
import { listThreads, TracedThread } from "./threads.ts";

const doc = createDoc("Traces");
const FoundRuns = v.object({
  runs: selectableList(Run),
  cursors: v.object({ next: v.nullable(v.string()) }),
  parsed_query: v.null(),
  /** With `sort_by`. */
  complete: v.optional(v.boolean()),
});
const Stats = v.object({ ...RunStats.entries, complete: v.boolean() });
const Groups = v.object({
  groups: v.array(v.object({ ...TracedThread.entries, group_key: v.string(), filter: v.string() })),
  total: Count,
  complete: v.boolean(),
});
const ReadRun = v.object({
  ...Run.entries,
  /** With `include_messages`. */
  messages: v.optional(v.array(AnyObject)),
  child_run_ids: v.array(v.string()),
  direct_child_run_ids: v.array(v.string()),
});

const MAX_LIMIT = 100;
const WIDTHS = { minute: HOUR_MICROS / 60, hour: HOUR_MICROS, day: DAY_MICROS };
/** The most intervals of one series: 12 hours by the minute, 31 days by the hour, two years by the day. */
const MAX_BUCKETS = 744;

type Query = v.InferOutput<typeof QueryV1>;

export const runQueriesV1 = new Hono<App>()
  .post("/runs/query", doc("Find runs by project, time, filter", FoundRuns), body(FindRunsBody), async (c) => {
    const wanted = c.req.valid("json");
    requireScope(wanted);
    const { limit = MAX_LIMIT, order = "desc", cursor, sort_by: by = "start_time" } = wanted;
    if (limit > MAX_LIMIT) throw new Problem(400, `limit exceeds maximum allowed value of ${MAX_LIMIT}`);
    const selection = toSelection(wanted);
    checkSelection(selection);
    const select = wanted.select ? new Set(wanted.select) : undefined;
    const payloads = selectPayloads(payloadNames(select ?? NAMES_V1));
    const { workspaceId } = c.get("principal");
    const find = { projectIds: projectsIn(wanted), selection, order, limit, payloads };
    const found =
      by === "start_time"
        ? await findPage(c.env, workspaceId, find, cursor)
        : await rankPage(c.env, workspaceId, { ...find, by }, cursor);
    const context = await readContext(c.env, serverAddress(c), workspaceId, found.runs);
    const runs = found.runs.map((run) => runV1(run, select, context));
    return runsResponse(openSealedBlobs(c.env), { ...found, runs, parsed_query: null });
  })
  .post("/runs/stats", doc("Statistics over the runs that match", Stats), body(QueryV1), async (c) => {
    const wanted = c.req.valid("json");
    requireScope(wanted);
    const selection = toSelection(wanted);
    checkSelection(selection);
    return c.json(await projectStats(c.env, c.get("principal").workspaceId, projectsIn(wanted), selection));
  })
  .post(
    "/runs/stats/series",
    doc("Statistics over the runs that match, by hour or day, and by a property", RunSeries),
    body(SeriesQuery),
    async (c) => {
      const wanted = c.req.valid("json");
      const { interval = "hour", by, max_groups: mostGroups = 20 } = wanted;
      const projectIds = projectsIn(wanted);
      const endTime = wanted.end_time ?? Date.now() * 1000;
      const selection = { ...toSelection(wanted), startTime: wanted.start_time ?? endTime - DAY_MICROS, endTime };
      checkSelection(selection);
      const width = WIDTHS[interval];
      if (selection.startTime >= endTime) throw new Problem(422, "Invalid body: start_time must be before end_time.");
      if ((endTime - selection.startTime) / width > MAX_BUCKETS)
        throw new Problem(
          422,
          `Invalid body: the window has more than ${MAX_BUCKETS} intervals. Choose a shorter one, or the interval "day".`,
        );
      const { workspaceId } = c.get("principal");
      return c.json(await runSeries(c.env, workspaceId, { projectIds, selection, interval: width, by, mostGroups }));
    },
  )
  .post("/runs/group", doc("Threads of a project", Groups), body(GroupRuns), async (c) => {
    const { session_id, filter, start_time, end_time, limit = 100, offset = 0 } = c.req.valid("json");
    const selection = { filter, startTime: start_time, endTime: end_time };
    checkSelection(selection);
    const { threads, complete } = await listThreads(c.env, c.get("principal").workspaceId, session_id, selection);
    const groups = threads.slice(offset, offset + limit).map((thread) => ({
      ...thread,
      group_key: thread.thread_id,
      filter: `eq(thread_id, ${JSON.stringify(thread.thread_id)})`,
    }));
    return c.json({ groups, total: threads.length, complete });
  })
  .post(
    "/runs/query/validate",
    doc("Whether a filter can be understood", v.object({ valid: v.literal(true) })),
    body(v.object({ filter: v.string() })),
    (c) => {
      parseFilter(c.req.valid("json").filter);
      return c.json({ valid: true });
    },
  )
  .get("/runs/:run_id", doc("Read a run", ReadRun), param(RunId), query(ReadV1), async (c) => {
    const { workspaceId } = c.get("principal");
    const { run_id: id } = c.req.valid("param");
    const { session_id: projectId, include_messages } = c.req.valid("query");
    const location = (await locateRuns(c.env, database(c.env.DB), workspaceId, [id], projectId)).get(id);
    if (!location) throw new Problem(404, "Run not found.");
    const partition = tracePartition(c.env, workspaceId, location);
    const find = {
      projectIds: [location.projectId],
      locations: [location],
      selection: { ids: [id] },
      order: "desc" as const,
      after: null,
      limit: 1,
      payloads: [...LARGE_FIELDS],
    };
    const [found, children] = await Promise.all([findRuns(c.env, workspaceId, find), partition.children(id)]);
    const run = found.runs[0];
    if (!run) throw new Problem(404, "Run not found.");
    const shown = runV1(run, undefined, await readContext(c.env, serverAddress(c), workspaceId, found.runs));
    const whose = { workspaceId, projectIds: find.projectIds, selection: find.selection };
    const messages = include_messages ? { messages: await messagesOfRun(c.env, whose) } : {};
    return runsResponse(openSealedBlobs(c.env), {
      ...shown,
      ...messages,
      child_run_ids: children.all,
      direct_child_run_ids: children.direct,
    });
  });

async function findPage(
  env: Env,
  workspaceId: string,
  find: Omit<RunFindRequest, "after">,
  cursor: string | undefined,
) {
  const { runs, next } = await findRuns(env, workspaceId, { ...find, after: readCursor(cursor) });
  return { runs, cursors: { next: writeCursor(next) } };
}

async function rankPage(
  env: Env,
  workspaceId: string,
  ranking: Omit<RankFindRequest, "after">,
  cursor: string | undefined,
) {
  const name = `${ranking.by} ${ranking.order}`;
  const after = readRankCursor(name, cursor);
  const { runs, next, complete } = await rankOverPartitions(env, workspaceId, { ...ranking, after });
  return { runs, cursors: { next: writeRankCursor(name, next) }, complete };
}

/** The projects that a query names; none means all. */
function projectsIn({ session = [], session_id: one }: Query): string[] {
  if (!one) return session;
  if (session.length > 0 && !session.includes(one))
    throw new Problem(422, "Invalid body.session_id: is not in session.");
  return [one];
}

function requireScope({ session, session_id, id, parent_run, trace, reference_example }: Query): void {
  if ([session, id, reference_example].some((list) => list && list.length > 0)) return;
  if (session_id || parent_run || trace) return;
  throw new Problem(400, "at least one of 'session','id','parent_run','trace','reference_example' must be specified");
}

function toSelection(wanted: Query): RunSelection {
  return {
    ids: wanted.id,
    traceId: wanted.trace,
    parentRunId: wanted.parent_run,
    runType: wanted.run_type,
    referenceExampleIds: wanted.reference_example,
    executionOrder: wanted.execution_order === ROOT_ORDER ? undefined : wanted.execution_order,
    isRoot: wanted.is_root,
    hasError: wanted.error,
    startTime: wanted.start_time,
    endTime: wanted.end_time,
    filter: joinFilters(
      wanted.filter,
      wanted.search_filter,
      searchFilter(wanted.query),
      rootsFilter(wanted.execution_order),
    ),
    traceFilter: wanted.trace_filter,
    treeFilter: wanted.tree_filter,
  };
}

/** `execution_order` with which the clients request the roots of traces. Runs are not sent with it. */
const ROOT_ORDER = 1;

function rootsFilter(executionOrder: number | undefined): string | undefined {
  return executionOrder === ROOT_ORDER ? "eq(is_root, true)" : undefined;
}

/** `query` is free text. */
function searchFilter(text: string | undefined): string | undefined {
  return text ? `search(${JSON.stringify(text)})` : undefined;
}

function joinFilters(...filters: (string | undefined)[]): string | undefined {
  const given = filters.filter((filter) => filter !== undefined && filter !== "") as string[];
  // Each is checked alone first, so that the positions of faults are those of the caller's own text.
  for (const filter of given) parseFilter(filter);
  return given.length < 2 ? given[0] : `and(${given.join(", ")})`;
}

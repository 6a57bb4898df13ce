/** `/api/v2/threads/stats` and `/api/v2/threads/{id}/stats`: the figures that a client selects. */
import * as v from "valibot";
import { AnyObject, Count, Time, choosing, Uuid } from "../../http/shapes.ts";
import { Hono } from "hono";
import { createDoc } from "../../http/route.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { body, param, query } from "../../http/validate.ts";
import { DAY_MICROS } from "../time.ts";
import { checkSelection } from "./find.ts";
import { QueryThreadStats, ReadThreadStats, ThreadId, RunId } from "./schema.ts";
import { readThreadStats } from "./threads.ts";
import { messagesOfRun, messagesOfThread, type ConversationMessage } from "./messages.ts";

const doc = createDoc("Traces");

type Figures = Awaited<ReturnType<typeof readThreadStats>>;
type Shape = Record<string, [name: string, value: (figures: Figures) => unknown]>;

const SHARED: Shape = {
  LATENCY_P50: ["latency_p50_seconds", (it) => it.latency_p50],
  LATENCY_P99: ["latency_p99_seconds", (it) => it.latency_p99],
  PROMPT_TOKENS: ["prompt_tokens", (it) => it.prompt_tokens],
  COMPLETION_TOKENS: ["completion_tokens", (it) => it.completion_tokens],
  TOTAL_TOKENS: ["total_tokens", (it) => it.total_tokens],
  PROMPT_COST: ["prompt_cost", (it) => Number(it.prompt_cost)],
  COMPLETION_COST: ["completion_cost", (it) => Number(it.completion_cost)],
  TOTAL_COST: ["total_cost", (it) => Number(it.total_cost)],
};

const OF_ONE: Shape = {
  ...SHARED,
  TURNS: ["turns", (it) => it.run_count],
  FIRST_START_TIME: ["first_start_time", (it) => it.first_start_time],
  LAST_START_TIME: ["last_start_time", (it) => it.last_run_start_time],
  LAST_END_TIME: ["last_end_time", (it) => it.last_end_time],
  PROMPT_TOKEN_DETAILS: ["prompt_token_details", (it) => ({ raw: it.prompt_token_details })],
  COMPLETION_TOKEN_DETAILS: ["completion_token_details", (it) => ({ raw: it.completion_token_details })],
  PROMPT_COST_DETAILS: ["prompt_cost_details", (it) => ({ raw: it.prompt_cost_details })],
  COMPLETION_COST_DETAILS: ["completion_cost_details", (it) => ({ raw: it.completion_cost_details })],
  FEEDBACK_STATS: ["feedback_stats", (it) => it.feedback_stats],
};

const OF_ALL: Shape = {
  ...SHARED,
  THREAD_COUNT: ["thread_count", (it) => it.thread_count],
  TRACE_COUNT: ["trace_count", (it) => it.run_count],
  ERROR_RATE: ["error_rate", (it) => it.error_rate],
  STREAMING_RATE: ["streaming_rate", (it) => it.streaming_rate],
  MEDIAN_TOKENS: ["median_tokens", (it) => it.median_tokens],
  FIRST_TOKEN_P50: ["first_token_p50_seconds", (it) => it.first_token_p50],
  FIRST_TOKEN_P99: ["first_token_p99_seconds", (it) => it.first_token_p99],
  PROMPT_TOKEN_DETAILS: ["prompt_token_details", (it) => it.prompt_token_details],
  COMPLETION_TOKEN_DETAILS: ["completion_token_details", (it) => it.completion_token_details],
  PROMPT_COST_DETAILS: ["prompt_cost_details", (it) => it.prompt_cost_details],
  COMPLETION_COST_DETAILS: ["completion_cost_details", (it) => it.completion_cost_details],
};

const seconds = v.optional(v.number());
const sums = v.record(v.string(), v.number());
const shared = {
  latency_p50_seconds: seconds,
  latency_p99_seconds: seconds,
  prompt_tokens: v.optional(Count),
  completion_tokens: v.optional(Count),
  total_tokens: v.optional(Count),
  prompt_cost: v.optional(v.number()),
  completion_cost: v.optional(v.number()),
  total_cost: v.optional(v.number()),
  complete: v.boolean(),
};
const details = <S extends v.GenericSchema>(shape: S) => ({
  prompt_token_details: v.optional(shape),
  completion_token_details: v.optional(shape),
  prompt_cost_details: v.optional(shape),
  completion_cost_details: v.optional(shape),
});
/** The figures that the request selects, as far as they are known. */
const FiguresOfOne = v.object({
  ...shared,
  ...details(v.object({ raw: sums })),
  turns: v.optional(Count),
  first_start_time: v.optional(Time),
  last_start_time: v.optional(Time),
  last_end_time: v.optional(Time),
  feedback_stats: v.optional(v.record(v.string(), AnyObject)),
});
const FiguresOfAll = v.object({
  ...shared,
  ...details(sums),
  thread_count: v.optional(Count),
  trace_count: v.optional(Count),
  error_rate: v.optional(v.number()),
  streaming_rate: v.optional(v.number()),
  median_tokens: v.optional(Count),
  first_token_p50_seconds: seconds,
  first_token_p99_seconds: seconds,
});

export const threadStats = new Hono<App>()
  .post(
    "/threads/stats",
    doc("Statistics of the threads of a project", FiguresOfAll),
    body(QueryThreadStats),
    async (c) => {
      const { project_id, select, filter, trace_filter, tree_filter, ...times } = c.req.valid("json");
      const names = namesIn(OF_ALL, select);
      const selection = {
        filter,
        traceFilter: trace_filter,
        treeFilter: tree_filter,
        startTime: times.min_start_time ?? Date.now() * 1000 - DAY_MICROS,
        endTime: times.max_start_time,
      };
      checkSelection(selection);
      const figures = await readThreadStats(c.env, c.get("principal").workspaceId, project_id, selection);
      return c.json(showFigures(OF_ALL, names, figures));
    },
  )
  .get(
    "/threads/:thread_id/stats",
    doc("Statistics of a thread", FiguresOfOne),
    param(ThreadId),
    query(ReadThreadStats),
    async (c) => {
      const { session_id, filter, ...given } = c.req.valid("query");
      const names = namesIn(OF_ONE, given.selects ?? given["selects[]"] ?? []);
      const selection = { threadId: c.req.valid("param").thread_id, filter };
      checkSelection(selection);
      const figures = await readThreadStats(c.env, c.get("principal").workspaceId, session_id, selection);
      if (figures.run_count === 0 && !filter) throw new Problem(404, "The project has no such thread.");
      return c.json(showFigures(OF_ONE, names, figures));
    },
  );

/** The selected names, in upper case. @throws Problem 422 for one that is no figure, and when there is none */
function namesIn(shape: Shape, given: string | string[]): string[] {
  const names = [given].flat().flatMap((name) => name.split(","));
  const selected = names.map((name) => name.trim().toUpperCase()).filter((name) => name !== "");
  const unknown = selected.find((name) => !Object.hasOwn(shape, name));
  if (unknown === "THREAD_FEEDBACK_STATS") throw new Problem(501, "Weir does not serve feedback of whole threads.");
  if (unknown !== undefined || selected.length === 0)
    throw new Problem(422, `Invalid selects: choose among ${Object.keys(shape).join(", ")}.`);
  return selected;
}

/** A figure that is not known is left out. */
function showFigures(shape: Shape, names: string[], figures: Figures): object {
  const members = names.flatMap((name) => (shape[name] ? [shape[name]] : []));
  const known = members.map(([member, value]) => [member, value(figures) ?? undefined]);
  return { ...Object.fromEntries(known), complete: figures.complete };
}

// The messages of runs, traces and threads: `/runs/threads/{id}`, and `…/messages` of the second generation.

const messageDoc = createDoc("Traces");

const ALL = "all_messages";
const Texts = v.object({ thread_id: v.string(), previews: v.object({ all_messages: v.string() }) });
const Messages = v.object({ items: v.array(AnyObject), next_cursor: v.null() });

const ReadThread = v.object({ session_id: Uuid, select: v.optional(v.literal(ALL), ALL) });
const OfRun = choosing({ project_id: v.optional(Uuid) });
const OfProject = choosing({ project_id: Uuid });

/** Mounted before `/runs/:run_id/…`. */
export const threadMessages = new Hono<App>().get(
  "/runs/threads/:thread_id",
  messageDoc(
    "The messages of a thread, as `previews.all_messages`: one JSON text each, with an empty line between two",
    Texts,
  ),
  param(ThreadId),
  query(ReadThread),
  async (c) => {
    const { thread_id } = c.req.valid("param");
    const messages = await readThread(
      c.env,
      c.get("principal").workspaceId,
      c.req.valid("query").session_id,
      thread_id,
    );
    const all_messages = messages.map((message) => JSON.stringify(message)).join("\n\n");
    return c.json({ thread_id, previews: { all_messages } });
  },
);

export const messagesV2 = new Hono<App>()
  .get(
    "/runs/:run_id/messages",
    messageDoc("The messages of a run", Messages),
    param(RunId),
    query(OfRun),
    async (c) => {
      const { project_id } = c.req.valid("query");
      const whose = { projectIds: project_id ? [project_id] : [], selection: { ids: [c.req.valid("param").run_id] } };
      return c.json(page(await messagesOfRun(c.env, { workspaceId: c.get("principal").workspaceId, ...whose })));
    },
  )
  .get(
    "/traces/:run_id/messages",
    messageDoc("The messages of a trace", Messages),
    param(RunId),
    query(OfRun),
    async (c) => {
      const { project_id } = c.req.valid("query");
      const selection = { traceId: c.req.valid("param").run_id, isRoot: true };
      const whose = { projectIds: project_id ? [project_id] : [], selection };
      return c.json(page(await messagesOfRun(c.env, { workspaceId: c.get("principal").workspaceId, ...whose })));
    },
  )
  .get(
    "/threads/:thread_id/messages",
    messageDoc("The messages of a thread", Messages),
    param(ThreadId),
    query(OfProject),
    async (c) => {
      const { thread_id } = c.req.valid("param");
      return c.json(
        page(await readThread(c.env, c.get("principal").workspaceId, c.req.valid("query").project_id, thread_id)),
      );
    },
  );

async function readThread(
  env: Env,
  workspaceId: string,
  projectId: string,
  threadId: string,
): Promise<ConversationMessage[]> {
  const selection = { threadId, isRoot: true };
  const messages = await messagesOfThread(env, { workspaceId, projectIds: [projectId], selection });
  if (!messages) throw new Problem(404, "The project has no such thread.");
  return messages;
}

function page(items: ConversationMessage[] | undefined) {
  if (!items) throw new Problem(404, "Run not found.");
  return { items, next_cursor: null };
}

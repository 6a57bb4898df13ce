/** The run of a tool call: its progress, its result, and what a client gets when the run stops at a question. */
import {
  LOG_LEVEL_META_KEY,
  type ServerContext,
  type CallToolResult,
  type InputRequiredResult,
} from "@modelcontextprotocol/server";
import * as v from "valibot";
import { isObject, type Json } from "../../lib/json.ts";
import { type EventMethod, type LogEvent, readEvents } from "../../threads/log/events.ts";
import { issueLinks } from "../../threads/interrupts/links/links.ts";
import type { ThreadCaller } from "../../threads/api/access.ts";
import { readJson, threadStub } from "../../threads/remote.ts";
import {
  type McpInterrupt,
  canShow,
  isForPeople,
  interruptsIn,
  request,
  type ClientDisplay,
  askAsText,
} from "./interrupts.ts";
import { type OutputSchema, structureState, toResult } from "./tools.ts";

// What a graph writes during a run, and else its steps, as log messages and progress of the request.

/** The events that progress is made from. */
export const METHODS: EventMethod[] = ["custom", "checkpoints"];
const MAX_CHARACTERS = 1_000;
/** The media types that the client accepts: the transport gets a header that has both. */
export const ACCEPTED = "x-weir-accepted";

/** What a graph writes to be logged: a level of the protocol (RFC 5424), and any data. */
const Logged = v.object({
  level: v.picklist(["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]),
  data: v.unknown(),
  logger: v.optional(v.string()),
});

/**
 * Sends what the client has requested of an event. Undefined when that is nothing: no progress, and, from 2026-07-28 on, no log
 * level. Before, log messages are sent without a request where the answer is a stream.
 */
export function reportTo(context: ServerContext): ((event: LogEvent) => Promise<void>) | undefined {
  const { mcpReq, http } = context;
  const progress = progressSender(context);
  const isLogged =
    mcpReq.envelope === undefined
      ? /\btext\/event-stream\b/i.test(http?.req?.headers.get(ACCEPTED) ?? "")
      : isObject(mcpReq.envelope) && mcpReq.envelope[LOG_LEVEL_META_KEY] !== undefined;
  if (!progress && !isLogged) return undefined;
  return async (event) => {
    const logged = event.method === "custom" ? v.safeParse(Logged, event.data) : undefined;
    if (!logged?.success) return progress?.(event);
    const { level, data, logger } = logged.output;
    await mcpReq.log(level, data, logger);
  };
}

/** Sends the progress of an event. Undefined when the client has not requested progress. */
function progressSender({ mcpReq }: ServerContext): ((event: LogEvent) => Promise<void>) | undefined {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let last = -1;
  let hasWritten = false;
  return async ({ method, ns, data }) => {
    if (method === "custom") hasWritten = true;
    // The steps of a graph that reports its own progress would count beside it.
    else if (hasWritten || ns.length > 0) return;
    const { progress, total, message } = method === "custom" ? writeProgress(data) : readStep(data);
    // Each value must be larger than the one before.
    const grows = progress !== undefined && progress > last;
    last = grows ? progress : Math.max(last, 0) + 1;
    const params = { progressToken, progress: last, ...(grows && total !== undefined && { total }), message };
    await mcpReq.notify({ method: "notifications/progress", params });
  };
}

interface ShownProgress {
  progress?: number;
  total?: number;
  message?: string;
}

function writeProgress(data: unknown): ShownProgress {
  if (!isObject(data)) return { message: readChunkText(data) };
  const { progress, total, message } = data;
  const known = typeof progress === "number" ? { progress, ...(typeof total === "number" && { total }) } : {};
  if (typeof message === "string") return { ...known, message: message.slice(0, MAX_CHARACTERS) };
  return typeof progress === "number" ? known : { message: readChunkText(data) };
}

function readStep(data: unknown): ShownProgress {
  return isObject(data) && typeof data.step === "number" ? { message: `Step ${data.step}` } : {};
}

const readChunkText = (data: unknown): string =>
  (typeof data === "string" ? data : (JSON.stringify(data) ?? "")).slice(0, MAX_CHARACTERS);

export interface ToolRun {
  id: string;
  /** How long the run is kept at least, milliseconds since 1970. */
  keepUntil?: number;
  signal: AbortSignal;
  /** Gets the run's events of `METHODS` while it runs. */
  report?: (event: LogEvent) => Promise<void>;
  /** Whether the client takes requests for input, and what it shows to a person. */
  takesRequests: boolean;
  shows: ClientDisplay;
  schema: OutputSchema | undefined;
  /** This server's, as the client has it. */
  address: string;
}

export type McpResult = CallToolResult | InputRequiredResult;

/** Reports the run's events from `seq` on, and gives its result. */
export async function follow(by: ThreadCaller, threadId: string, seq: number, run: ToolRun): Promise<McpResult> {
  const { id: runId, signal, report, schema } = run;
  const thread = threadStub(by.env, by.principal.workspaceId, threadId);
  const cancel = () => void thread.cancelMany({ runIds: [runId] }, "interrupt").catch(() => undefined);
  signal.addEventListener("abort", cancel, { once: true });
  try {
    if (report) {
      const events = await thread.follow({ after: seq - 1, runId, methods: METHODS });
      for await (const event of readEvents(events)) await report(event);
    }
    const state = await readJson(await thread.join(runId));
    if (!("__interrupt__" in state)) return toResult(state, schema);
    return ask(by, threadId, state, run);
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

/** Requests, where the client can show a question to a person; else a result that says what is asked. */
async function ask(by: ThreadCaller, threadId: string, state: Json, run: ToolRun): Promise<McpResult> {
  const { takesRequests, shows } = run;
  const interrupts = interruptsIn(state);
  const opens = takesRequests && shows.urls && !shows.forms;
  const linked = opens ? await withLinks(by, threadId, interrupts, run) : interrupts;
  if (takesRequests && linked.some((one) => canShow(one, shows))) return request(linked, shows, threadId);
  return waitsFor(by, threadId, { questions: interrupts, state }, run);
}

/** What is asked, in words, with a link to each question and how else to answer it. */
export async function waitsFor(
  by: ThreadCaller,
  threadId: string,
  { questions: interrupts, state }: { questions: McpInterrupt[]; state: Json },
  run: ToolRun,
): Promise<CallToolResult> {
  const linked = await withLinks(by, threadId, interrupts, run);
  return { ...askAsText(linked, threadId), ...structureState(state, run.schema) };
}

async function withLinks(
  { env, principal }: ThreadCaller,
  threadId: string,
  interrupts: McpInterrupt[],
  { address }: ToolRun,
): Promise<McpInterrupt[]> {
  const ids = interrupts.filter(isForPeople).map(({ id }) => id);
  const place = { env, workspaceId: principal.workspaceId, threadId, address };
  const links = new Map((await issueLinks(place, "mcp", ids)).map((link) => [link.interrupt_id, link]));
  return interrupts.map((one) => ({ ...one, link: links.get(one.id) }));
}

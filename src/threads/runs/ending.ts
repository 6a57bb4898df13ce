/** What the end of a run leaves: the record of the thread, the event that says how it ended, links for feedback, a compacted log. */
import { nextPass } from "../log/compact.ts";
import type { ThreadContext } from "../context.ts";
import { keptUntil, restartTtl, type ThreadRecord, withoutRun } from "../record.ts";
import type { Json } from "../../lib/json.ts";
import type { Emitter } from "../log/emit.ts";
import { interruptIds, listInterrupts, uniqueById } from "../interrupts/waiting.ts";
import { spendingAfter } from "./spending.ts";
import type { RunRecord } from "../run.ts";
import type { Interrupts, RunError, RunStatus, StopReason } from "../types.ts";
import type { ValueRefs } from "../log/values.ts";
import { logError } from "../../lib/log.ts";
import type { Tracer } from "../../runtime/tracer.ts";
import { feedbackLinks, ownProject } from "../../traces/own-runs.ts";

// When a thread's log is compacted, and the transaction that does it. What is merged is in log/compact.ts.

/** How long a thread must have been at rest: clients that lost their connection still find every token until then. */
const COMPACT_AFTER_MS = 10 * 60_000;
/** The number of deltas of a run from which merging them repays the alarm and the row writes. */
const WORTHWHILE = 10;

/** How far a thread is compacted, and when to continue, after a run with this many deltas. */
export function compactLater({ compacted }: ThreadRecord, deltas: number, now: number): ThreadRecord["compacted"] {
  const { through = 0, due } = compacted ?? {};
  return deltas > WORTHWHILE || due !== undefined ? { through, due: now + COMPACT_AFTER_MS } : compacted;
}

/** Compacts the next part of the log. The record says how far it has come, and whether there is more to do. */
export function compact(context: ThreadContext): void {
  const { tables, eventLog, record } = context;
  if (!record) return;
  const { rows, through, more } = nextPass(tables, record.compacted?.through ?? 0, eventLog.visible);
  const compacted = { ...record, compacted: { through, ...(more && { due: Date.now() }) } };
  tables.transaction(() => {
    for (const row of rows) tables.setEvents(row);
    context.writeRecord(compacted);
  });
  context.keepRecord(compacted);
  eventLog.recent.forget();
}

/** The end of a run that executes nothing: its readers get the thread as it is, with what waits there. */
export function showThread(
  { values, interrupts, rest }: ThreadRecord,
  emitter: Emitter,
  error?: RunError,
): { status: RunStatus; error?: RunError } {
  if (error) return { status: "error", error };
  if (values) emitter.emit("values", [], JSON.stringify({ $v: values }), { refs: true });
  emitter.values = values ?? undefined;
  for (const { id = "", value } of Object.values(interrupts).flat())
    emitter.emit("input.requested", [], JSON.stringify({ interrupt_id: id, payload: value }));
  return { status: rest === "interrupted" ? "interrupted" : "success" };
}

interface LeftByRun {
  /** Other runs are open. */
  open: boolean;
  /** Why the run was stopped, if it was. */
  reason?: StopReason;
  /** The interrupts that wait now. */
  questions: Interrupts;
  /** The state that it leaves; undefined when it has left that of before. */
  values?: ValueRefs;
  /** The graph has stopped between two steps. */
  waits: boolean;
}

/** The record after a run has ended that gave this many deltas. */
export function recordAfter(
  record: ThreadRecord,
  run: RunRecord,
  deltas: number,
  { open, reason, questions: interrupts, values, waits }: LeftByRun,
): ThreadRecord {
  const now = Date.now();
  const { status, outcome } = run;
  const ran = outcome.attempt > 0 && reason !== "rollback" && !outcome.refusal && !outcome.idle;
  const failed = status === "error" || status === "timeout";
  const asks = interruptIds(ran ? interrupts : record.interrupts).length > 0;
  return {
    ...(reason === "rollback" ? withoutRun(record, run.request, outcome.replaced) : record),
    updated: now,
    ...(ran && {
      stateUpdated: now,
      values: values ?? record.values,
      interrupts,
      rest: failed ? "error" : waits || Object.keys(interrupts).length > 0 ? "interrupted" : "idle",
      error: outcome.error,
    }),
    compacted: compactLater(record, deltas, now),
    ...(!open && lifetimeAfter(record, asks)),
    ttl: restartTtl(record.ttl),
    ...(outcome.spent && { spent: spendingAfter(record, run) }),
  };
}

/** What the run has asked, by task: of several questions of a nested graph LangGraph names one. `questions`: all that wait at its end. */
export function interruptsAtEnd(raised: Interrupts, interrupts: Interrupts): Interrupts {
  return uniqueById(
    Object.fromEntries(Object.entries(raised).map(([task, asked]) => [task, interrupts[task] ?? asked])),
  );
}

/**
 * The ids of the questions that the run answered and that wait again: it was stopped or rolled back, or its answer was not used. A
 * question that the run has asked itself is another one.
 */
export function unusedByRun(
  { outcome: { answered = [] } }: RunRecord,
  {
    questions: interrupts,
    requested,
    reason,
  }: { questions: Interrupts; requested: ReadonlySet<string>; reason?: StopReason },
): string[] {
  const waiting = interruptIds(interrupts);
  const isAskedAgain = (id: string) => waiting.includes(id) && (reason !== undefined || !requested.has(id));
  return answered.filter((id) => reason === "rollback" || isAskedAgain(id));
}

/** Emits a run's last events, and keeps the number of the last one. */
export function emitEnd(
  emitter: Emitter,
  { status, outcome, request }: RunRecord,
  { interrupts, requested, reason, error, feedback, written }: EndOfRun,
): void {
  if (written) emitter.emit("values", [], JSON.stringify({ $v: written }), { refs: true });
  for (const { id = "", value } of listInterrupts(interrupts)) {
    // The answer was undone, or not used: readers of the log that saw it find the question again.
    if (!outcome.answered?.includes(id) || requested.has(id)) continue;
    emitter.emit("input.requested", [], JSON.stringify({ interrupt_id: id, payload: value }));
  }
  if (error) emitter.emit("error", [], JSON.stringify(error));
  if (feedback) emitter.emit("feedback", [], JSON.stringify(feedback));
  // A run that executes nothing shows what waits.
  const asks = Object.keys((outcome.idle ? interrupts : outcome.interrupts) ?? {}).length > 0;
  const pause = reason ? "cancel" : asks ? "input" : "breakpoint";
  outcome.last_seq = emitter.lifecycle([], {
    ...describeEnd(status, request.graph_id, pause, error),
    ...outcome.refusal,
  });
}

/** How a run came to its end, besides its status. */
export interface RunEnding {
  /** Why it was stopped. */
  reason?: StopReason;
  error?: RunError;
  /** Links for feedback, by their keys (see below). */
  feedback?: Record<string, string>;
  /** The values with what ended nodes have written, of a run that was stopped beside them. */
  written?: ValueRefs;
  /** The thread's graph waits between two steps; as the run itself says when absent. */
  waits?: boolean;
}

interface EndOfRun extends RunEnding {
  interrupts: Interrupts;
  requested: ReadonlySet<string>;
}

/** When a thread that is made for one run is deleted. `waits`: interrupts wait. */
function lifetimeAfter({ temporary, kept }: ThreadRecord, waits: boolean): Pick<ThreadRecord, "temporary" | "kept"> {
  const { keep_until } = kept ?? temporary ?? {};
  const until = keptUntil(waits, keep_until);
  if (kept || (waits && temporary?.keep_interrupts)) return { temporary: undefined, kept: { until, keep_until } };
  return temporary ? { temporary: { ...temporary, until: keptUntil(false, keep_until) } } : {};
}

/**
 * The body of the root `lifecycle` event. `pause`: the reason of an interruption. Clients depend on it: only an input can be
 * answered.
 */
function describeEnd(
  status: RunStatus,
  graphName: string,
  pause: "input" | "breakpoint" | "cancel",
  error?: RunError,
): Json {
  const base = { graph_name: graphName };
  if (status === "success") return { event: "completed", ...base };
  if (status === "interrupted") return { event: "interrupted", ...base, reason: pause };
  return { event: "failed", ...base, error: error ? `${error.error}: ${error.message}` : status };
}

// Links by which people give feedback on a run that has just ended.

/**
 * `{<key>: url}` when the run requests links and leaves a trace. Never throws: an error of the links must not fail the
 * run.
 */
export async function listRunFeedback(
  { env, workspaceId, threadId }: ThreadContext,
  run: RunRecord,
  tracer: Tracer | undefined,
): Promise<Record<string, string> | undefined> {
  const { feedback_keys: keys = [], origin, langsmith_tracer } = run.request;
  const project = ownProject(env, langsmith_tracer?.project_name);
  const began = tracer?.began;
  if (keys.length === 0 || origin === undefined || project === undefined || began === undefined) return undefined;
  try {
    return await feedbackLinks(env, workspaceId, { id: run.id, project, began }, { keys, origin });
  } catch (error) {
    logError(error, { thread: threadId, while: "making links for feedback" });
    return undefined;
  }
}

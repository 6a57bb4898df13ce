/** Side effects of a run's end, queued in the transaction that ends the run. The outbox carries them out. */
import type { EndedRun } from "../../limits/flow/rpc.ts";
import { logError } from "../../lib/log.ts";
import type { RootFacts, RunFacts, TraceEnd, Tracer } from "../../runtime/tracer.ts";
import { ownProject } from "../../traces/own-runs.ts";
import { derivedUsage } from "../../limits/prices/usage.ts";
import type { ThreadContext } from "../context.ts";
import { type StoredRun, takesSlots } from "../run.ts";
import { queueReports } from "./budget.ts";
import { queueTaskEffects } from "../runs/tasks.ts";
import { queueWebhook } from "./webhook.ts";

/** Characters of trace runs in one row: even at three bytes each it stays under SQLite's 2 MB. */
const TRACE_ROW = 400_000;
/** Characters of a trace that the thread's own row holds at most: changes of the thread write that row again. */
const TRACE_IN_THREAD = 100_000;

/** Queues what a run's end brings about. Called inside the transaction that ends it, before that writes the thread's row. */
export function queueSideEffects(context: ThreadContext, run: StoredRun, tracer?: Tracer): void {
  const { webhook } = run.request;
  const end = tracer && buildTraceEnd(context, run);
  if (end) queueTrace(context, end, tracer);
  if (webhook) queueWebhook(context, run, webhook);
  // Also of a run that has not begun: its claim may be on its way.
  if (takesSlots(run)) queueSlots(context, run, tracer);
  queueReports(context, run);
  queueTaskEffects(context, run);
}

/** Queues the return of a run's slots, with the tokens that its trace counts. */
function queueSlots({ tables }: ThreadContext, { id, created }: StoredRun, tracer?: Tracer): void {
  const counts = tracer?.modelOutputs.map((outputs) => derivedUsage(outputs)?.total_tokens ?? 0) ?? [];
  const ended: EndedRun = { run_id: id, created, tokens: counts.reduce((sum, count) => sum + count, 0) };
  tables.outbox.add("slots", JSON.stringify(ended));
}

/**
 * Queues a run's trace, in rows that SQLite can hold. A statement that fails rolls back the run's end, and the next attempt
 * of the run queues the trace again.
 */
function queueTrace({ tables: { outbox }, threadId }: ThreadContext, end: TraceEnd, tracer: Tracer): void {
  const texts = buildTraceTexts(threadId, end, tracer);
  if (texts.length === 0) return;
  if (texts.reduce((sum, text) => sum + text.length, 0) <= TRACE_IN_THREAD)
    return outbox.keepTrace(`[${texts.join(",")}]`);
  let batch: string[] = [];
  let size = 0;
  const queue = () => outbox.add("trace", `[${batch.join(",")}]`);
  for (const text of texts) {
    if (batch.length > 0 && size + text.length > TRACE_ROW) {
      queue();
      [batch, size] = [[], 0];
    }
    batch.push(text);
    size += text.length;
  }
  queue();
}

/** The runs of the trace as JSON. An error of a value in them loses the trace, never the run. */
function buildTraceTexts(threadId: string, end: TraceEnd, tracer: Tracer): string[] {
  try {
    return tracer.finish(end);
  } catch (error) {
    logError(error, { thread: threadId, while: "writing its trace" });
    return [];
  }
}

/** What the trace says of the run; undefined where traces are off. */
function buildTraceEnd({ env }: ThreadContext, run: StoredRun): TraceEnd | undefined {
  const { langsmith_tracer: wanted } = run.request;
  const project = ownProject(env, wanted?.project_name);
  if (project === undefined) return undefined;
  const { error: failure } = run.outcome;
  const error = failure && `${failure.error}: ${failure.message}`;
  return { run: runFacts(run), root: rootFacts(run), project, error, referenceExampleId: wanted?.example_id };
}

function rootFacts({ id, request, due, outcome: { began = due } }: StoredRun): RootFacts {
  return { id, name: request.graph_id, inputs: request.input, began };
}

function runFacts({ status, due, outcome: { began = due, first_event, updated } }: StoredRun): RunFacts {
  return {
    status,
    queued_ms: began - due,
    first_event_ms: first_event === undefined ? undefined : first_event - due,
    took_ms: updated - began,
  };
}

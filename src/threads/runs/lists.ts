/** Lists of a thread's runs. */
import { remoteProblem } from "../../lib/problem.ts";
import type { ThreadContext } from "../context.ts";
import { listInterrupts } from "../interrupts/waiting.ts";
import { RESPONSE_LIMIT } from "../limits.ts";
import type { OpenRuns, RunsQuery } from "../rpc.ts";
import { toRunRecord, type RunRecord, toWireRun, type RunOutcome } from "../run.ts";
import type { OpenRun, Run } from "../types.ts";

/** Runs on the wire, newest first; 413 when they are too large for one answer. */
export function listRuns(context: ThreadContext, { limit, offset, status }: RunsQuery): Run[] {
  const { tables, record } = context;
  const runs: Run[] = [];
  const shared = JSON.stringify(record?.metadata ?? {}).length;
  let size = 0;
  for (const row of tables.runs.list(limit, offset, status)) {
    size += row.request.length + shared;
    if (size > RESPONSE_LIMIT)
      throw remoteProblem(413, "The inputs of these runs are too large for one answer. Request fewer runs with limit.");
    runs.push(toWireRun(toRunRecord(row), context));
  }
  return runs;
}

/** The first `most` open runs on the wire, without what they were given. */
export function listOpen(context: ThreadContext, open: readonly RunRecord[], most: number): OpenRun[] {
  return open.slice(0, most).map((run) => {
    const { kwargs: _kwargs, ...shown } = toWireRun(run, context);
    return { ...shown, attempt: run.outcome.attempt };
  });
}

/** The open runs with one of these ids, or with this status. */
export function chooseOpen(open: readonly RunRecord[], which: OpenRuns): RunRecord[] {
  const { runIds, status, createdBefore = Infinity } = which;
  return open.filter(
    (run) => run.created < createdBefore && (runIds?.includes(run.id) ?? (status === "all" || status === run.status)),
  );
}

// What a client that waits for a run gets.

/**
 * The body of `/wait` and `/join` as JSON: the run's final values, with `__interrupt__` where it paused, or `__error__`. The
 * state is long, so it is not read to be written again.
 */
export function readResult({ record, values }: ThreadContext, outcome: RunOutcome | undefined): string {
  if (!outcome) return "{}";
  const { interrupts = {}, error } = outcome;
  if (error) return JSON.stringify({ __error__: error });
  // A run that was stopped before its graph gave a state leaves that of the thread.
  const state = values.flatAll(outcome.values ?? record?.values ?? {});
  const raised = listInterrupts(interrupts);
  if (raised.length === 0) return state;
  return `${state.slice(0, -1)}${state === "{}" ? "" : ","}"__interrupt__":${JSON.stringify(raised)}}`;
}

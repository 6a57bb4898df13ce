/** Lists of a thread's runs. */
import { remoteProblem } from "../../lib/problem.ts";
import type { ThreadContext } from "../context.ts";
import { ANSWER_LIMIT } from "../limits.ts";
import type { OpenRuns, RunsQuery } from "../rpc.ts";
import { storedRun, type StoredRun, toWireRun } from "../run.ts";
import type { OpenRun, Run } from "../types.ts";

/** Runs on the wire, newest first; 413 when they are too large for one answer. */
export function listRuns({ tables, threadId }: ThreadContext, { limit, offset, status }: RunsQuery): Run[] {
  const runs: Run[] = [];
  let size = 0;
  for (const row of tables.runs.list(limit, offset, status)) {
    size += row.request.length;
    if (size > ANSWER_LIMIT)
      throw remoteProblem(413, "The inputs of these runs are too large for one answer. Request fewer runs with limit.");
    runs.push(toWireRun(storedRun(row), threadId));
  }
  return runs;
}

/** The first `most` open runs on the wire, without what they were given. */
export function listOpen(open: readonly StoredRun[], most: number, threadId: string): OpenRun[] {
  return open.slice(0, most).map((run) => {
    const { kwargs: _kwargs, ...shown } = toWireRun(run, threadId);
    return { ...shown, attempt: run.outcome.attempt };
  });
}

/** The open runs with one of these ids, or with this status. */
export function chooseOpen(open: readonly StoredRun[], which: OpenRuns): StoredRun[] {
  const { runIds, status, createdBefore = Infinity } = which;
  return open.filter(
    (run) => run.created < createdBefore && (runIds?.includes(run.id) ?? (status === "all" || status === run.status)),
  );
}

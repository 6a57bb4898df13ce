/** `weir traces tail`: each trace once it has ended. */
import { setTimeout as pause } from "node:timers/promises";
import { Fault } from "../fault.ts";
import { formatJson } from "../console.ts";
import { formatLine } from "./line.ts";
import { buildQuery, findProjectId, type TraceOptions } from "../trace-query.ts";
import { gatherRuns, LISTED, type Run } from "./pages.ts";

const PAUSE_MS = 2_000;
/** How late after its end a trace can arrive and still be shown. */
const LATE_MS = 300_000;
const MOST_A_POLL = 1_000;
/** How often in a row the server may not answer. */
const MOST_FAILURES = 5;

export async function tailTraces(given: TraceOptions, signal?: AbortSignal): Promise<void> {
  // The id of the project is read once, and not by each look.
  const options = { ...given, values: { ...given.values, project: await findProjectId(given) } };
  const show = (run: Run) => console.log(options.values.json ? formatJson(run) : formatLine(run));
  const since = () => new Date(Date.now() - LATE_MS).toISOString();
  const before = await findEnded(options, "neq(end_time, null)", options.limit(10, MOST_A_POLL));
  const late = await findEnded(options, `gte(end_time, "${since()}")`, MOST_A_POLL);
  for (const run of before) show(run);
  const seen = new Map([...before, ...late].map((run) => [run.id, run.end_time ?? ""]));
  let failures = 0;
  while (await waitForNextPoll(signal)) {
    const begin = since();
    for (const [id, end] of seen) if (end < begin) seen.delete(id);
    try {
      for (const run of await findEnded(options, `gte(end_time, "${begin}")`, MOST_A_POLL)) {
        if (!seen.has(run.id)) show(run);
        seen.set(run.id, run.end_time ?? "");
      }
      failures = 0;
    } catch (error) {
      if (!(error instanceof Fault) || ++failures >= MOST_FAILURES) throw error;
    }
  }
}

/** False once the signal is given. */
async function waitForNextPoll(signal: AbortSignal | undefined): Promise<boolean> {
  return pause(PAUSE_MS, true, { signal }).catch(() => false);
}

/** The newest traces that meet the condition, the oldest first. */
async function findEnded(options: TraceOptions, condition: string, most: number): Promise<Run[]> {
  const query = { ...(await buildQuery(options, condition)), selects: LISTED };
  return (await gatherRuns(options.call, query, most)).runs.toReversed();
}

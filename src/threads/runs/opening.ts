/**
 * Where a reader begins that has no cursor: with the thread's state, once, and the whole run in flight. The events of the turns before
 * would repeat the state of each of their steps, which grows with the square of the thread.
 */
import type { ThreadContext } from "../context.ts";
import type { EventText, Framing } from "../log/events.ts";
import { pendingInterrupts } from "../record.ts";
import { isOpen, type RunOutcome } from "../run.ts";
import type { RunStatus } from "../types.ts";

export interface Opening {
  /** Events up to this sequence number are left out. */
  after: number;
  /**
   * The last event of the newest run that is over. The states of runs up to it are left out, and the one that it left comes in front of
   * that event. Undefined where no run is over.
   */
  at?: number;
}

/**
 * Milliseconds after its end in which a run still counts: a client opens its stream after the run that it has started, and opens
 * another one when its connection breaks or it wants other events. LangChain's hosted server keeps events for as long.
 */
const RECENT_MS = 120_000;

export function findOpening(context: ThreadContext): Opening {
  const { eventLog, record } = context;
  const waits = pendingInterrupts(record).length > 0;
  const opening: Opening = { after: eventLog.visible };
  for (const { status, outcome, isNewest } of begunRuns(context)) {
    const isRecent = isOpen(status) || Date.now() - outcome.updated < RECENT_MS;
    // A run that has stopped at an interrupt is not over.
    const isPresent = isOpen(status) || (isNewest && (isRecent || waits));
    const { first_seq, last_seq } = outcome;
    if (!isPresent && last_seq !== undefined && opening.at === undefined) {
      opening.at = last_seq;
      opening.after = Math.min(opening.after, last_seq - 1);
    }
    if (!isPresent && !isRecent) break;
    opening.after = Math.min(opening.after, first_seq - 1);
  }
  return opening;
}

interface BegunRun {
  status: RunStatus;
  outcome: RunOutcome & { first_seq: number };
  isNewest: boolean;
}

/** Newest first. One at a time, and without their requests, which may have megabytes. */
function* begunRuns({ tables }: ThreadContext): Generator<BegunRun, void, void> {
  let isNewest = true;
  for (let n = 0; ; n++) {
    const [row] = tables.runs.list(1, n);
    if (!row) return;
    const outcome = JSON.parse(row.outcome ?? "{}") as RunOutcome;
    const { first_seq } = outcome;
    if (first_seq === undefined) continue;
    yield { status: row.status as RunStatus, outcome: { ...outcome, first_seq }, isNewest };
    isNewest = false;
  }
}

/** The state that the run left whose last event has this number, as an event before that one; undefined where it left none. */
export function stateEvent(context: ThreadContext, at: number): EventText | undefined {
  const { record, values } = context;
  for (const { outcome, isNewest } of begunRuns(context)) {
    if (outcome.first_seq > at || outcome.last_seq !== at) continue;
    // The thread's own may be newer: it may have been changed by hand.
    const refs = isNewest ? record?.values : outcome.values;
    const seen = {
      seq: at - 0.5,
      id: `state|${at - 1}`,
      ts: outcome.updated,
      run: "",
      method: "values" as const,
      ns: [],
    };
    return refs ? { ...seen, text: () => values.flatAll(refs) } : undefined;
  }
  return undefined;
}

/** Whether a reader with this opening gets the event: nothing that is not read, and no state of a run that is over. */
export const isInOpening = (
  { after, at }: Opening,
  { seq, method, ns }: Pick<EventText, "seq" | "method" | "ns">,
): boolean => seq > after && (at === undefined || seq >= at - 0.5 || method !== "values" || ns.length > 0);

/** The framing for readers with these openings. `state`: as `stateEvent`. */
export function framedFrom(
  openings: (Opening | undefined)[],
  state: (at: number) => EventText | undefined,
  framing: Framing,
): Framing {
  const all = new Set(openings.map((opening) => opening?.at));
  return (event) => {
    const first = all.has(event.seq) ? state(event.seq) : undefined;
    return `${first ? framing(first) : ""}${framing(event)}`;
  };
}

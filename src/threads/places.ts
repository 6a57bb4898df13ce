/** Where the readers of a thread's streams are, and how each stream opens again from there. */
import { repeated } from "../http/outage.ts";
import { toProblem } from "../http/problem.ts";
import { type Place, WholeLines } from "./resume.ts";
import type { HistoryQuery, TailQuery, ThreadRpc, ThreadState } from "./rpc.ts";

/** The result of a run that has ended is always the same text, so a number of bytes is a place in it. */
export function inResult(open: Place["open"]): Place {
  let passed = 0;
  let known = 0;
  return {
    take(chunk) {
      const fresh = chunk.subarray(Math.min(known, chunk.length));
      known -= chunk.length - fresh.length;
      passed += fresh.length;
      return fresh;
    },
    async open() {
      known = passed;
      return open();
    },
  };
}

/** In the log: after the last event that was passed on. Without `after`, at the beginning of the run. */
export function inLog(stub: () => ThreadRpc, query: Omit<TailQuery, "after"> & { after?: number }): Place {
  const lines = new WholeLines();
  const { runId } = query;
  let { after } = query;
  return {
    take(chunk) {
      const whole = lines.take(chunk);
      if (whole) after = seqOf(whole.last);
      return whole?.lines;
    },
    async open() {
      lines.restart();
      if (runId !== undefined) after ??= await beforeRun(stub(), runId);
      // A log that is shorter now is another thread's, made after this one was deleted: the reader begins anew.
      else if ((after ?? 0) > (await stub().lastSeq())) return undefined;
      return stub()
        .follow({ ...query, after: after ?? 0 })
        .catch(unlessGone);
    },
    async leave() {
      if (!query.cancelOnDisconnect || runId === undefined) return;
      await repeated(() => stub().cancelMany({ runIds: [runId] }, "interrupt"));
    },
  };
}

/** In the history, which is newest first: before the last checkpoint that was passed on. */
export function inHistory(stub: () => ThreadRpc, query: HistoryQuery): Place {
  const lines = new WholeLines();
  let { limit } = query;
  let last: Uint8Array | undefined;
  return {
    take(chunk) {
      const whole = lines.take(chunk);
      if (!whole) return undefined;
      limit -= whole.lines.reduce((sum, byte) => sum + (byte === 10 ? 1 : 0), 0);
      last = whole.last;
      return whole.lines;
    },
    async open() {
      lines.restart();
      if (limit <= 0) return undefined;
      return stub().history({ ...query, limit, before: last ? checkpointIn(last) : query.before });
    },
  };
}

/** The sequence number after which all events of the run come; for a run that has not begun, of the last event. */
export async function beforeRun(thread: ThreadRpc, runId: string): Promise<number> {
  // Asked first: a run that begins in between has its events after it.
  const visible = await thread.lastSeq();
  const first = await thread.firstSeq(runId);
  return first === undefined ? visible : first - 1;
}

/** The log writes an event's sequence number first: a state of megabytes is not parsed for it. */
function seqOf(line: Uint8Array): number {
  const head = new TextDecoder().decode(line.subarray(0, 32));
  const digits = /^\{"seq":(\d+)/.exec(head)?.[1];
  if (digits === undefined) throw new Error("A line of the log does not begin with its sequence number.");
  return Number(digits);
}

function checkpointIn(line: Uint8Array): string {
  const { checkpoint } = JSON.parse(new TextDecoder().decode(line)) as ThreadState;
  return String(checkpoint?.checkpoint_id);
}

/** A run or thread that was deleted meanwhile has no more events. */
export function unlessGone(error: unknown): undefined {
  if (toProblem(error).status !== 404) throw error;
  return undefined;
}

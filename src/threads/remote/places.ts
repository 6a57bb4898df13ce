/** Places in the streams of a thread: how far a reader has come, and how the stream opens again from there. */
import { retry } from "../../lib/retry.ts";
import { toProblem } from "../../lib/problem.ts";
import { LINE_FEED, type Place, WholeLines } from "../resume.ts";
import type { TailQuery } from "../log/events.ts";
import type { HistoryQuery, ThreadRpc } from "../rpc.ts";
import type { ThreadState } from "../types.ts";

/** In the result of a run. The result of a run that has ended never changes, so the place is a number of bytes. */
export function placeInResult(open: Place["open"]): Place {
  let passed = 0;
  let known = 0;
  return {
    take(chunk) {
      const fresh = chunk.subarray(Math.min(known, chunk.length));
      known -= chunk.length - fresh.length;
      passed += fresh.length;
      return fresh.length > 0 ? [fresh] : [];
    },
    async open() {
      known = passed;
      return open();
    },
  };
}

/** In the log: after the last event that was passed on. Without `after`, at the beginning of the run. */
export function placeInLog(stub: () => ThreadRpc, query: Omit<TailQuery, "after"> & { after?: number }): Place {
  const lines = new WholeLines();
  const { runId } = query;
  let { after } = query;
  return {
    take(chunk) {
      const whole = lines.take(chunk);
      if (whole) after = readSeq(whole.last);
      return whole?.lines ?? [];
    },
    rest(seq) {
      after = seq;
    },
    async open() {
      lines.restart();
      if (runId !== undefined) after ??= await beforeRun(stub(), runId);
      // A shorter log belongs to a new thread of the same id. The stream ends, and the client starts again.
      else if ((after ?? 0) > (await stub().lastSeq())) return undefined;
      return stub()
        .follow({ ...query, after: after ?? 0 })
        .catch(unlessGone);
    },
    async leave() {
      if (!query.cancelOnDisconnect || runId === undefined) return;
      await retry(() => stub().cancelMany({ runIds: [runId] }, "interrupt"));
    },
  };
}

/** In the history, which is newest first: before the last checkpoint that was passed on. */
export function placeInHistory(stub: () => ThreadRpc, query: HistoryQuery): Place {
  const lines = new WholeLines();
  let { limit } = query;
  let last: Uint8Array[] | undefined;
  return {
    take(chunk) {
      const whole = lines.take(chunk);
      if (!whole) return [];
      // Only the last of the chunks holds line breaks.
      limit -= whole.lines.at(-1)?.filter((byte) => byte === LINE_FEED).length ?? 0;
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

/** The sequence number after which all events of the run come. A run that is deleted has none. */
async function beforeRun(thread: ThreadRpc, runId: string): Promise<number> {
  return ((await thread.firstSeq(runId)) ?? 1) - 1;
}

/** The sequence number ends within this many bytes of a line. */
const HEAD = 32;

/** Each line starts with its sequence number, so a state of megabytes is not parsed. */
function readSeq(line: Uint8Array[]): number {
  const head = decodeChunks(line.map((chunk) => chunk.subarray(0, HEAD)).slice(0, HEAD));
  const digits = /^\{"seq":(\d+)/.exec(head)?.[1];
  if (digits === undefined) throw new Error("A line of the log does not start with its sequence number.");
  return Number(digits);
}

function checkpointIn(line: Uint8Array[]): string {
  const { checkpoint } = JSON.parse(decodeChunks(line)) as ThreadState;
  return String(checkpoint?.checkpoint_id);
}

function decodeChunks(chunks: Uint8Array[]): string {
  const decoder = new TextDecoder();
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("");
}

/** A run or thread that was deleted has no more events. */
export function unlessGone(error: unknown): undefined {
  if (toProblem(error).status !== 404) throw error;
  return undefined;
}

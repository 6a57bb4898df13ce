/** Streams of an object that continue where a restart of the object cut them. */
import { backOff, findOutage } from "../lib/retry.ts";
import { streamFrom } from "../lib/streams.ts";
import { REST, withoutPings, type TailQuery } from "./log/events.ts";
import type { Sleep } from "./log/sleepers.ts";
import { toProblem } from "../lib/problem.ts";
import type { HistoryQuery, ThreadRpc } from "./rpc.ts";
import type { ThreadState } from "./types.ts";

type Bytes = ReadableStream<Uint8Array>;

/** Where a stream's reader is. */
export interface StreamCursor {
  /** The bytes to pass on after `chunk` has arrived. The place moves past them. */
  take(chunk: Uint8Array): Uint8Array[];
  /** The log is read up to this sequence number, and no run is in progress. */
  rest?(seq: number): void;
  /** Opens the stream again from this place; undefined when no more events follow. */
  open(): Promise<Bytes | undefined>;
}

export const LINE_FEED = 10;

/** Milliseconds without a byte after which a stream that was cut fails. The client then reconnects. */
const PATIENCE_MS = 30_000;

/**
 * One stream made of `first` and, after each cut by an outage and each rest, of what `place.open` gives. Fails when no byte
 * arrives for 30 s after the first cut, and with every error that is not an outage. `sleep` waits through a rest.
 */
export function resumeBytes(first: Bytes, position: StreamCursor, sleep?: (after: number) => Sleep): Bytes {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined = first.getReader();
  let left = false;
  let opened = Date.now();
  let cutSince: number | undefined;
  let cuts = 0;
  /** What `place` has passed on and the reader has not taken yet. */
  const passed: Uint8Array[] = [];
  let marks = new RestMark();
  let sleeping: Sleep | undefined;
  const read = async (): Promise<Uint8Array | undefined> => {
    if (left) return undefined;
    reader ??= (await position.open())?.getReader();
    if (!left) return (await reader?.read())?.value;
    await close();
    return undefined;
  };
  // A stream that has failed cannot be cancelled: its object has stopped.
  const close = async () => {
    sleeping?.leave();
    await reader?.cancel().catch(() => undefined);
  };
  /** Whether the stream continues after its object ended it: it was at rest, and the log has changed. */
  const rested = async (): Promise<boolean> => {
    const seq = marks.seq();
    if (left || seq === undefined || !sleep) return false;
    marks = new RestMark();
    reader = undefined;
    position.rest?.(seq);
    sleeping = sleep(seq);
    const changed = await sleeping.woken;
    opened = Date.now();
    return changed && !left;
  };
  const cut = async (error: unknown) => {
    const now = Date.now();
    // A stream that stayed open this long worked, even if it brought no byte.
    if (reader && now - opened > PATIENCE_MS) cutSince = undefined;
    cutSince ??= now;
    reader = undefined;
    marks = new RestMark();
    if (findOutage(error) === undefined || now - cutSince > PATIENCE_MS) throw error;
    await backOff((cuts += 1));
    opened = Date.now();
  };
  return streamFrom({
    async next() {
      for (;;) {
        const waiting = passed.shift();
        if (waiting) return waiting;
        try {
          const chunk = await read();
          if (chunk === undefined) {
            if (await rested()) continue;
            return undefined;
          }
          cutSince = undefined;
          cuts = 0;
          const bytes = marks.take(withoutPings(chunk));
          if (bytes.length > 0) passed.push(...position.take(bytes));
        } catch (error) {
          if (left) return undefined;
          await cut(error);
        }
      }
    },
    async leave() {
      left = true;
      await close();
    },
  });
}

/** The mark at the end of a stream at rest (see `restMark`), which may come in pieces. */
class RestMark {
  #text: string | undefined;

  /** The bytes before the mark. */
  take(chunk: Uint8Array): Uint8Array {
    const at = this.#text === undefined ? chunk.indexOf(REST) : 0;
    if (at === -1) return chunk;
    this.#text = (this.#text ?? "") + new TextDecoder("latin1").decode(chunk.subarray(at));
    return chunk.subarray(0, at);
  }

  /** The sequence number; undefined without a mark. */
  seq(): number | undefined {
    return this.#text === undefined ? undefined : Number(this.#text.slice(1));
  }
}

/** Passes on whole lines only, so that the reader never has half a line after a cut. */
export class WholeLines {
  /** The chunks of the line that is not complete yet. They are not joined, to save memory. */
  #begun: Uint8Array[] = [];

  /** The chunks of the lines that `chunk` completes, and those of the last of these lines. */
  take(chunk: Uint8Array): { lines: Uint8Array[]; last: Uint8Array[] } | undefined {
    const end = chunk.lastIndexOf(LINE_FEED) + 1;
    if (end === 0) {
      this.#begun.push(chunk);
      return undefined;
    }
    const head = chunk.subarray(0, end);
    const lines = [...this.#begun, head];
    const start = end === 1 ? 0 : head.lastIndexOf(LINE_FEED, end - 2) + 1;
    this.#begun = end < chunk.length ? [chunk.subarray(end)] : [];
    return { lines, last: start === 0 ? lines : [head.subarray(start)] };
  }

  /** Drops the incomplete line. It is sent again. */
  restart(): void {
    this.#begun = [];
  }
}

// Where the reader of a stream of SSE frames is, so that the stream continues between two frames.

/** Characters that the end of one frame and the beginning of the next take at most besides data: an id has fewer. */
const CARRY = 200;
/** Bytes of an incomplete frame that are held back. The frame of a token is never longer in practice. */
const HELD = 1_000_000;

/** How the stream's object is reached. */
interface FrameSource {
  /** Opens the stream again after a sequence number, from its beginning without one. */
  open: (after?: number) => ReturnType<StreamCursor["open"]>;
  /** Whether the log has the event: a token may be lost with the process that sent it. */
  has: (seq: number) => Promise<boolean>;
}

/**
 * An event may have several frames, and frames of an event are always the same bytes. So the reader's place is the last event that
 * is complete, and the bytes that came after it. Whole frames are passed on, because a token of which a half has been passed on
 * may be lost.
 */
export function cursorInFrames({ open, has }: FrameSource): StreamCursor {
  const decoder = new TextDecoder("latin1");
  /** The last event that is whole: another one has begun after it. */
  let whole: number | undefined;
  /** The event of the last frame that ended. */
  let latest: number | undefined;
  /** Bytes of whole frames since `whole`, and bytes since the last of these that have been passed on. */
  let sinceWhole = 0;
  let begun = 0;
  let held: Uint8Array[] = [];
  let skip = 0;
  let carry = "";

  /** The bytes up to the last frame that `chunk` ends, 0 when it ends none. */
  const findFrameEnd = (chunk: Uint8Array, before: number): number => {
    const text = carry + decoder.decode(chunk);
    const fresh = carry.length;
    let counted = fresh - before;
    let last = 0;
    for (const match of text.matchAll(/\nid: (?:\S*\|)?(\d+)\n\n/g)) {
      const end = match.index + match[0].length;
      if (end <= fresh) continue;
      const seq = Number(match[1]);
      if (seq !== latest) {
        whole = latest;
        sinceWhole = 0;
        latest = seq;
      }
      sinceWhole += end - counted;
      counted = end;
      last = end - fresh;
    }
    carry = text.slice(-CARRY);
    return last;
  };

  const follow = (chunk: Uint8Array): Uint8Array[] => {
    const waiting = sumLengths(held);
    const end = findFrameEnd(chunk, begun + waiting);
    if (end > 0) {
      const passed = [...held, chunk.subarray(0, end)];
      begun = 0;
      held = end < chunk.length ? [chunk.subarray(end)] : [];
      return passed;
    }
    held.push(chunk);
    if (begun === 0 && waiting + chunk.length <= HELD) return [];
    const passed = held;
    begun += waiting + chunk.length;
    held = [];
    return passed;
  };

  return {
    take(chunk) {
      const passed = chunk.subarray(Math.min(skip, chunk.length));
      skip -= chunk.length - passed.length;
      return passed.length === 0 ? [] : follow(passed);
    },
    rest(seq) {
      latest = whole = seq;
      sinceWhole = 0;
    },
    async open() {
      // At rest, and after a loss, the place is between two events.
      const isLost = latest !== undefined && latest !== whole && !(await has(latest));
      if (isLost && begun > 0) throw new Error("The stream was cut inside of a frame that is lost.");
      if (isLost) {
        whole = latest;
        sinceWhole = 0;
      }
      if (begun === 0) carry = "";
      held = [];
      skip = sinceWhole + begun;
      return open(whole);
    },
  };
}

const sumLengths = (chunks: Uint8Array[]): number => chunks.reduce((sum, { length }) => sum + length, 0);

// Places in the streams of a thread: how far a reader has come, and how the stream opens again from there.

/** In the result of a run. The result of a run that has ended never changes, so the place is a number of bytes. */
export function cursorInResult(open: StreamCursor["open"]): StreamCursor {
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
export function cursorInLog(stub: () => ThreadRpc, query: Omit<TailQuery, "after"> & { after?: number }): StreamCursor {
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
        .catch(unlessDeleted);
    },
  };
}

/** In the history, which is newest first: before the last checkpoint that was passed on. */
export function cursorInHistory(stub: () => ThreadRpc, query: HistoryQuery): StreamCursor {
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
export function unlessDeleted(error: unknown): undefined {
  if (toProblem(error).status !== 404) throw error;
  return undefined;
}

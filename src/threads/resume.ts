/** Streams of an object that continue where a restart of the object cut them. */
import { backOff, findOutage } from "../lib/retry.ts";
import { streamFrom } from "../lib/streams.ts";
import { REST, withoutPings } from "./log/events.ts";
import type { Sleep } from "./remote/sleep.ts";

type Bytes = ReadableStream<Uint8Array>;

/** Where a stream's reader is. */
export interface Place {
  /** The bytes to pass on after `chunk` has arrived. The place moves past them. */
  take(chunk: Uint8Array): Uint8Array[];
  /** The log is read up to this sequence number, and no run is in progress. */
  rest?(seq: number): void;
  /** Opens the stream again from this place; undefined when no more events follow. */
  open(): Promise<Bytes | undefined>;
  /** Called when the reader leaves before the end. */
  leave?(): Promise<void>;
}

export const LINE_FEED = 10;

/** Milliseconds without a byte after which a stream that was cut fails. The client then reconnects. */
const PATIENCE_MS = 30_000;

/**
 * One stream made of `first` and, after each cut by an outage and each rest, of what `place.open` gives. Fails when no byte
 * arrives for 30 s after the first cut, and with every error that is not an outage. `sleep` waits through a rest.
 */
export function resumeBytes(first: Bytes, place: Place, sleep?: (after: number) => Sleep): Bytes {
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
    reader ??= (await place.open())?.getReader();
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
    place.rest?.(seq);
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
          if (bytes.length > 0) passed.push(...place.take(bytes));
        } catch (error) {
          if (left) return undefined;
          await cut(error);
        }
      }
    },
    async leave() {
      left = true;
      await Promise.all([close(), place.leave?.()]);
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

/** Streams of an object that continue where a restart of the object cut them. */
import { backOff, outageOf } from "../http/outage.ts";

type Bytes = ReadableStream<Uint8Array>;

/** Where a stream's reader is. */
export interface Place {
  /** The bytes of `chunk` that go on to the reader. The place moves past them. */
  take(chunk: Uint8Array): Uint8Array | undefined;
  /** Opens the stream again from this place; undefined when nothing follows any more. */
  open(): Promise<Bytes | undefined>;
  /** The reader has left before the end. */
  leave?(): Promise<void>;
}

/** Milliseconds without any byte after which a stream that was cut is given up: it fails, and the client reconnects. */
const PATIENCE_MS = 30_000;

/**
 * `first` and, whenever it is cut by an outage, what `place.open` gives. The reader sees one stream. Fails when no byte
 * has come for 30 s since the first cut, and with any error that is no outage.
 */
export function resumed(first: Bytes, place: Place): Bytes {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined = first.getReader();
  let left = false;
  let opened = Date.now();
  let cutSince: number | undefined;
  let cuts = 0;
  const next = async (): Promise<Uint8Array | undefined> => {
    if (left) return undefined;
    reader ??= (await place.open())?.getReader();
    if (!left) return (await reader?.read())?.value;
    await close();
    return undefined;
  };
  // A stream that has failed cannot be cancelled: its object is gone.
  const close = async () => reader?.cancel().catch(() => undefined);
  const cut = async (error: unknown) => {
    const now = Date.now();
    // A stream that was open for long was well, also when it had nothing to bring.
    if (reader && now - opened > PATIENCE_MS) cutSince = undefined;
    cutSince ??= now;
    reader = undefined;
    if (outageOf(error) === undefined || now - cutSince > PATIENCE_MS) throw error;
    await backOff((cuts += 1));
    opened = Date.now();
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          try {
            const chunk = await next();
            if (left) return;
            if (chunk === undefined) return controller.close();
            cutSince = undefined;
            cuts = 0;
            const passed = place.take(chunk);
            if (passed && passed.length > 0) return controller.enqueue(passed);
          } catch (error) {
            if (left) return;
            await cut(error);
          }
        }
      },
      async cancel() {
        left = true;
        await Promise.all([close(), place.leave?.()]);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Passes on whole lines only, so that a cut never leaves half of one with the reader. */
export class WholeLines {
  /** The line that has begun, in the chunks it came in. */
  #rest: Uint8Array[] = [];

  /** The lines that `chunk` completes, and the last of them without its line break. */
  take(chunk: Uint8Array): { lines: Uint8Array; last: Uint8Array } | undefined {
    const end = chunk.lastIndexOf(LINE_FEED);
    if (end === -1) {
      this.#rest.push(chunk);
      return undefined;
    }
    const head = chunk.subarray(0, end + 1);
    const lines = this.#rest.length === 0 ? head : joined([...this.#rest, head]);
    this.#rest = end + 1 < chunk.length ? [chunk.subarray(end + 1)] : [];
    const last = lines.subarray(lines.lastIndexOf(LINE_FEED, lines.length - 2) + 1, lines.length - 1);
    return { lines, last };
  }

  /** Forgets the line that has begun: it comes again. */
  restart(): void {
    this.#rest = [];
  }
}

const LINE_FEED = 10;

function joined(chunks: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

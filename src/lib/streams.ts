/** Where the bytes of a stream come from. Each stream that passes bytes on costs every chunk a turn of the event loop. */

export interface ByteSource {
  /** The next bytes; undefined at the end. */
  next: () => Promise<Uint8Array | undefined>;
  /** The reader has left before the end. */
  leave: () => Promise<unknown>;
}

/** The sources of the streams that `streamFrom` has made. */
const sources = new WeakMap<ReadableStream, ByteSource>();

/** A stream of the source's bytes. Nothing is read from the source before the stream is read. */
export function streamFrom(source: ByteSource): ReadableStream<Uint8Array> {
  let left = false;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await source.next();
        if (left) return;
        if (bytes) controller.enqueue(bytes);
        else controller.close();
      },
      async cancel() {
        left = true;
        await source.leave();
      },
    },
    { highWaterMark: 0 },
  );
  sources.set(stream, source);
  return stream;
}

/** The bytes of a stream. One of `streamFrom` is not read for them, but its source. The caller is its only reader. */
export function toSource(stream: ReadableStream<Uint8Array>): ByteSource {
  const source = sources.get(stream);
  if (source) return source;
  const reader = stream.getReader();
  return { next: async () => (await reader.read()).value, leave: async () => reader.cancel() };
}

// Streams of bytes whose credential is checked while they are open.

/** Milliseconds between two heartbeats, and between two checks. Clients arm a watchdog on them, so it must stay under 10 s. */
const BEAT_MS = 5_000;

/** Ends a stream before its end. */
export interface StreamGuard {
  /** Called every five seconds: whether the stream may continue. */
  holds: () => Promise<boolean>;
  /** Called once, when the stream has ended, failed or lost its reader. */
  onEnd: () => void;
  /** What the stream ends with when it may not continue. */
  last: Uint8Array;
}

/** How to guard the streams made here: a second stream around one would cost each chunk another turn of the event loop. */
const guards = new WeakMap<ReadableStream, (guard: StreamGuard) => void>();

/** Wraps a response so that its stream ends when the guard no longer holds. */
export function guardedBy(response: Response, guard: StreamGuard): Response {
  const body = response.body as ReadableStream<Uint8Array>;
  const attach = guards.get(body);
  if (attach) {
    attach(guard);
    return response;
  }
  return new Response(guardStream(toSource(body), undefined, guard), response);
}

/** The source's bytes. Every five seconds `beat` is sent between two frames, and the guard is called. */
export function guardStream(
  { next, leave }: ByteSource,
  beat: Uint8Array | undefined,
  guard?: StreamGuard,
): ReadableStream<Uint8Array> {
  const between = new FrameEnd();
  let timer: ReturnType<typeof setInterval> | undefined;
  let ended = false;
  const finish = () => {
    if (!ended) guard?.onEnd();
    ended = true;
    clearInterval(timer);
  };
  const check = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (!guard || ended || (await guard.holds()) || ended) return;
    finish();
    if (between.here) {
      controller.enqueue(guard.last);
      controller.close();
    } else controller.error(new Error("The credential of this stream has ended within an event."));
    await leave();
  };
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => {
        if (beat && between.here) controller.enqueue(beat);
        void check(controller);
      }, BEAT_MS);
    },
    async pull(controller) {
      try {
        const bytes = await next();
        if (ended) return;
        if (bytes) {
          between.pass(bytes);
          return controller.enqueue(bytes);
        }
      } catch (error) {
        if (ended) return;
        finish();
        // The connection fails, so that clients reconnect. They would take a clean end for the end of the run.
        throw error;
      }
      finish();
      controller.close();
    },
    async cancel() {
      finish();
      await leave();
    },
  });
  guards.set(stream, (given) => {
    guard = given;
    if (ended) given.onEnd();
  });
  return stream;
}

/** Whether the bytes passed so far end with a whole frame: a comment within one would damage it. */
class FrameEnd {
  #lineFeeds = 2;

  get here(): boolean {
    return this.#lineFeeds >= 2;
  }

  pass(bytes: Uint8Array): void {
    for (const byte of bytes.subarray(-2)) this.#lineFeeds = byte === 10 ? this.#lineFeeds + 1 : 0;
  }
}

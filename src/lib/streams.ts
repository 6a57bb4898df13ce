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

/** A client whose disconnection has an effect. */
export interface WatchedClient {
  /** The request's: aborted when the client disconnects. */
  signal: AbortSignal;
  /** Called once when the client disconnects before the stream's end. */
  onLeave: () => Promise<unknown>;
  /** Keeps the request's context for work that goes on after the client. */
  waitUntil: (work: Promise<unknown>) => void;
}

/**
 * Milliseconds between two writes to a watched client. A client that closes its connection sends what one sends that only has no more
 * to say, so a server learns of it by a write that fails. Cloudflare's edge aborts the signal at once.
 */
const PROBE_MS = 500;

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
  return new Response(guardStream(toSource(body), undefined, { guard }), response);
}

/** The source's bytes. Every five seconds the guard is called, and `beat` is sent between two frames, more often to a watched client. */
export function guardStream(
  { next, leave }: ByteSource,
  beat: Uint8Array | undefined,
  { guard, client }: { guard?: StreamGuard; client?: WatchedClient } = {},
): ReadableStream<Uint8Array> {
  const between = new FrameEnd();
  const timers: ReturnType<typeof setInterval>[] = [];
  let ended = false;
  const finish = () => {
    if (!ended) guard?.onEnd();
    ended = true;
    timers.forEach(clearInterval);
    client?.signal.removeEventListener("abort", onAbort);
  };
  /** The signal and the stream's `cancel` may both tell of it. */
  const onLeave = async () => {
    if (ended) return;
    finish();
    await Promise.all([leave(), client?.onLeave()]);
  };
  const onAbort = () => client?.waitUntil(onLeave());
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
      const send = () => {
        if (beat && between.here) controller.enqueue(beat);
      };
      timers.push(setInterval(send, client ? PROBE_MS : BEAT_MS));
      timers.push(setInterval(() => void check(controller), BEAT_MS));
      client?.signal.addEventListener("abort", onAbort);
      if (client?.signal.aborted) onAbort();
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
    cancel: onLeave,
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

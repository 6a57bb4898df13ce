/** Streams of bytes whose credential is checked while they are open. */
import { type Source, toSource } from "../lib/streams.ts";

/** Milliseconds between two heartbeats, and between two checks. Clients arm a watchdog on them, so it must stay under 10 s. */
const BEAT_MS = 5_000;

/** Ends a stream before its end. */
export interface Guard {
  /** Called every five seconds: whether the stream may continue. */
  holds: () => Promise<boolean>;
  /** Called once, when the stream has ended, failed or lost its reader. */
  onEnd: () => void;
  /** What the stream ends with when it may not continue. */
  last: Uint8Array;
}

/** How to guard the streams made here: a second stream around one would cost each chunk another turn of the event loop. */
const guards = new WeakMap<ReadableStream, (guard: Guard) => void>();

/** Wraps a response so that its stream ends when the guard no longer holds. */
export function guardedBy(response: Response, guard: Guard): Response {
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
  { next, leave }: Source,
  beat: Uint8Array | undefined,
  guard?: Guard,
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

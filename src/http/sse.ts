/** Server-Sent Events framing (WHATWG HTML, section 9.2). */

export interface SseFrame {
  event?: string;
  /** Already serialised: one line of JSON. */
  data: string;
  id?: string;
}

/** One frame. `event` and `id` must hold no line break; JSON data never does. */
export function sseFrame({ event, data, id }: SseFrame): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n${id === undefined ? "" : `id: ${id}\n`}\n`;
}

/** Milliseconds between heartbeat comments. Clients arm a watchdog on them, so it must stay under 10 s. */
const HEARTBEAT_MS = 5_000;

/**
 * A streaming answer made of `frames`, with a heartbeat comment while nothing comes.
 * When the client leaves, `frames.return()` runs, so the producer can let go.
 */
export function sseResponse(frames: AsyncIterator<string>, headers: Record<string, string> = {}): Response {
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => controller.enqueue(encoder.encode(": heartbeat\n\n")), HEARTBEAT_MS);
    },
    async pull(controller) {
      try {
        const next = await frames.next();
        if (!next.done) return controller.enqueue(encoder.encode(next.value));
      } catch (error) {
        clearInterval(timer);
        // The connection fails, so that clients reconnect. They would take a clean end for the end of the run.
        throw error;
      }
      clearInterval(timer);
      controller.close();
    },
    async cancel() {
      clearInterval(timer);
      await frames.return?.();
    },
  });
  return new Response(body, {
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      ...headers,
    },
  });
}

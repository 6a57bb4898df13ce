/** An answer that lasts longer than the check of its credential ends when the credential does. */
import { FrameEnd, isEventStream, sseFrame } from "../http/sse.ts";

/** Milliseconds between two checks. */
const CHECK_MS = 5_000;

const message = "The credential of this stream has ended.";
const ERROR_EVENT = sseFrame({ event: "error", data: JSON.stringify({ error: "Unauthorized", message }) });
/** What `/wait` and `/join` answer for a run that failed. */
const ERROR_RESULT = JSON.stringify({ __error__: { error: "Unauthorized", message } });

/**
 * The same answer, which ends with an error as soon as `holds`, called every five seconds, is false. `onEnd` is called once,
 * when the answer has ended, failed or lost its reader.
 */
export function endedUnless(response: Response, holds: () => Promise<boolean>, onEnd: () => void): Response {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const last = new TextEncoder().encode(isEventStream(response) ? ERROR_EVENT : ERROR_RESULT);
  // A result is preceded by newlines, so the same rule says whether it has begun.
  const between = new FrameEnd();
  let ended = false;
  let timer: ReturnType<typeof setInterval> | undefined;
  const finish = () => {
    if (!ended) onEnd();
    ended = true;
    clearInterval(timer);
  };
  const end = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (ended || (await holds()) || ended) return;
    finish();
    if (between.here) {
      controller.enqueue(last);
      controller.close();
    } else controller.error(new Error("The credential of this stream has ended within an event."));
    await reader.cancel();
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => void end(controller), CHECK_MS);
    },
    async pull(controller) {
      try {
        const { value } = await reader.read();
        if (ended) return;
        if (value) {
          between.pass(value);
          return controller.enqueue(value);
        }
      } catch (error) {
        finish();
        throw error;
      }
      finish();
      controller.close();
    },
    async cancel() {
      finish();
      await reader.cancel();
    },
  });
  return new Response(body, response);
}

/** `/wait` and `/join`: the body is newlines while the run is open, then the JSON of its result. */
import { UNCOMPRESSED } from "../../../http/middleware.ts";
import { toProblem } from "../../../lib/problem.ts";
import type { ThreadRpc } from "../../rpc.ts";

/** Newlines keep proxies from closing an idle connection; JSON parsers skip them. */
const KEEP_ALIVE_MS = 5_000;

/**
 * The result of a run: its final values, with `__interrupt__` where it paused, or `{__error__: {error, message}}`. Always
 * 200. If the result cannot be read to its end, the connection fails: the client must not read a part as the whole
 * result.
 */
export function waitResponse(thread: ThreadRpc, runId: string, cancelOnDisconnect: boolean, path: string): Response {
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | undefined;
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let begun = false;
  const result = thread.join(runId);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => controller.enqueue(encoder.encode("\n")), KEEP_ALIVE_MS);
    },
    async pull(controller) {
      try {
        reader ??= (await result).getReader();
        const { done, value } = await reader.read();
        // Within a text of JSON a newline would be a fault.
        clearInterval(timer);
        begun = true;
        if (!done) return controller.enqueue(value);
      } catch (error) {
        clearInterval(timer);
        if (begun) throw error;
        const message = toProblem(error).detail;
        controller.enqueue(encoder.encode(JSON.stringify({ __error__: { error: "Error", message } })));
      }
      controller.close();
    },
    async cancel() {
      clearInterval(timer);
      if (cancelOnDisconnect) await thread.cancelMany({ runIds: [runId] }, "interrupt");
    },
  });
  return new Response(body, {
    headers: {
      "content-type": "application/json",
      "content-location": path,
      location: `${path}/join`,
      ...UNCOMPRESSED,
    },
  });
}

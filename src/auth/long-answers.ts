/** An answer that lasts longer than the check of its credential ends when the credential does. */
import { guardedBy } from "../lib/streams.ts";
import { isEventStream, sseFrame } from "../http/sse.ts";

const message = "The credential of this stream has ended.";
const ERROR_EVENT = sseFrame({ event: "error", data: JSON.stringify({ error: "Unauthorized", message }) });
/** What `/wait` and `/join` answer for a run that failed. */
const ERROR_RESULT = JSON.stringify({ __error__: { error: "Unauthorized", message } });

/**
 * The same answer, which ends with an error as soon as `holds`, called every five seconds, is false. `onEnd` is called once,
 * when the answer has ended, failed or lost its reader.
 */
export function endUnless(response: Response, holds: () => Promise<boolean>, onEnd: () => void): Response {
  const last = new TextEncoder().encode(isEventStream(response) ? ERROR_EVENT : ERROR_RESULT);
  return guardedBy(response, { holds, onEnd, last });
}

/** Reads what is left of a body that a request was answered without. */
import type { MiddlewareHandler } from "hono";

/** Enough for every body that a route accepts, and some more: a client that is not read may not read its answer. */
const DRAINED = 32 * 1024 * 1024;
/** How long that may take: a client may wait for its answer before it sends the rest. */
const PATIENCE_MS = 5_000;

/**
 * workerd reads at most 64 KB of a body after its answer, and then closes the connection, in which the answer may be lost: the
 * client has an error of the connection in the place of a 413 or 401. So a larger body is read first, up to a bound.
 */
export const drainBody: MiddlewareHandler = async (c, next) => {
  await next();
  const { body } = c.req.raw;
  if (c.res.status < 400 || body === null || body.locked) return;
  await Promise.race([readRest(body), scheduler.wait(PATIENCE_MS)]);
};

async function readRest(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  try {
    for (let read = 0; read <= DRAINED;) {
      const { done, value } = await reader.read();
      if (done) return;
      read += value.byteLength;
    }
  } catch {
    // The body was already read or forwarded, or the client disconnected.
  }
}

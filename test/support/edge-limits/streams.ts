/**
 * A budget for what is joined before it is sent. Cloudflare has no limit of its own here: an isolate has 128 MB for all its
 * objects, so one reader must not hold more than a small part of that.
 */
import { getInvocation } from "./invocation.ts";
import { patch } from "./patch.ts";
import { recordCrossing, recordFigure } from "./record.ts";
import { countBytes } from "./statements.ts";

/** Bytes of one chunk of a stream. */
export const CHUNK = 8 * 1024 * 1024;

/** Makes every stream that JavaScript feeds measure its chunks. */
export function guardStreams(): void {
  const controllers = [ReadableStreamDefaultController, ReadableByteStreamController, TransformStreamDefaultController];
  for (const { prototype } of controllers) {
    patch(prototype, "enqueue", (enqueue) => {
      return function (this: unknown, chunk: unknown) {
        const bytes = typeof chunk === "object" || typeof chunk === "string" ? countBytes(chunk) : 0;
        const where = getInvocation()?.name ?? "outside an invocation";
        recordFigure("chunk", bytes, where);
        if (bytes > CHUNK)
          throw recordCrossing("chunk", `A chunk of a stream has ${bytes} bytes, at most ${CHUNK} (${where}).`);
        return enqueue.call(this, chunk);
      };
    });
  }
}

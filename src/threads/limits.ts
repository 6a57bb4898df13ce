/**
 * How large the parts of a thread may be. An isolate has 128 MB for all that run in it, so what one run or one reader
 * holds at once has a limit (docs/limits.md).
 */
import { byteLength, METADATA_BYTES } from "../lib/bytes.ts";
import { remoteProblem } from "../lib/problem.ts";

/** Characters of JSON of a graph's whole state, of one channel of it, and of one event. */
export const STATE_LIMIT = 24 * 1024 * 1024;
/** Characters of one answer of a thread's object, which the platform limits to 32 MiB. */
export const ANSWER_LIMIT = 30 * 1024 * 1024;
/** Characters of JSON of the runs that wait in a thread's queue. */
export const QUEUE_LIMIT = 32 * 1024 * 1024;

/** Throws an error that ends the run when a state, a channel or an event of it is too large. */
export function withinState(size: number): void {
  if (size <= STATE_LIMIT) return;
  throw new RangeError(
    `The graph's state or one event of it has ${size} characters of JSON. A run may hold ${STATE_LIMIT}. Keep large files outside of the state.`,
  );
}

/** A thread's metadata, which are a part of its row in the index; 422 when they are too large for it. */
export function withinMetadata<T extends object>(metadata: T): T {
  if (byteLength(metadata) <= METADATA_BYTES) return metadata;
  throw remoteProblem(422, `Invalid body: the thread's metadata must be at most ${METADATA_BYTES} bytes as JSON.`);
}

/** Milliseconds that a run may take before the index says that its thread is busy. */
export const INDEX_DELAY_MS = 100;

/**
 * How large the parts of a thread may be. An isolate has 128 MB for all that run in it, so what one run or one reader
 * holds at once has a limit (docs/limits.md).
 */
import { byteLength, METADATA_BYTES } from "../lib/bytes.ts";
import { remoteProblem, Problem } from "../lib/problem.ts";

/** Characters of JSON of a graph's whole state, of one channel of it, and of one event. */
export const STATE_LIMIT = 24 * 1024 * 1024;
/** Characters of one answer of a thread's object, which the platform limits to 32 MiB. */
export const RESPONSE_LIMIT = 30 * 1024 * 1024;
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

// One request that changes many threads: how many it may call, and how many at the same time.

/**
 * Threads that one request calls at most. The platform allows 10,000 subrequests an invocation, and a call is made up to
 * four times when an object restarts (lib/retry.ts).
 */
export const MAX_THREADS_PER_REQUEST = 2_000;

/** Calls at the same time. The platform allows an invocation six open connections. */
const AT_ONCE = 6;

/** Runs `work` for every item, six at a time, and gives the results in order. Throws the first error after all items are done. */
export async function forEach<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results = await settleEach(items, work);
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

/** As `forEach`, but gives each item's error in its place. */
export async function settleEach<T, R>(items: T[], work: (item: T) => Promise<R>): Promise<PromiseSettledResult<R>[]> {
  const results: PromiseSettledResult<R>[] = [];
  const rest = items.entries();
  const worker = async () => {
    for (const [place, item] of rest) {
      const [result] = await Promise.allSettled([work(item)]);
      results[place] = result;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}

/** 503: the request has called as many threads as it may, and more remain. */
export function moreRemain(): Problem {
  const detail = `One request changes at most ${MAX_THREADS_PER_REQUEST} threads, and more remain. Send it again to continue.`;
  return new Problem(503, detail, { headers: { "retry-after": "1" } });
}

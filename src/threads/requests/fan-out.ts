/** One request that changes many threads: how many it may call, and how many at the same time. */
import { Problem } from "../../lib/problem.ts";

/**
 * Threads that one request calls at most. The platform allows 10,000 subrequests an invocation, and a call is made up to
 * four times when an object restarts (http/outage.ts).
 */
export const MOST_THREADS = 2_000;

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
  const detail = `One request changes at most ${MOST_THREADS} threads, and more remain. Send it again to continue.`;
  return new Problem(503, detail, { headers: { "retry-after": "1" } });
}

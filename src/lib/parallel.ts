/** Bounded concurrency, and tasks that fail independently. */
import { logError } from "./log.ts";

/**
 * Calls `work` for every item, at most `most` at a time. Returns the results in the order of the items. After a failure no
 * further item is started.
 */
export async function inParallel<T, R>(items: Iterable<T>, most: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const entries = [...items].entries();
  let failed = false;
  const worker = async () => {
    for (const [index, item] of entries) {
      if (failed) return;
      try {
        results[index] = await work(item);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: most }, worker));
  return results;
}

/** The platform opens at most six connections at a time for one request and queues the others. */
export const CONNECTIONS = 6;

/**
 * Runs all tasks concurrently and waits for all of them. Each failure is logged under the task's name.
 * @throws AggregateError of all failures.
 */
export async function runAll(parts: Record<string, () => Promise<unknown>>): Promise<void> {
  const errors: unknown[] = [];
  await Promise.all(
    Object.entries(parts).map(async ([name, part]) => {
      try {
        await part();
      } catch (error) {
        logError(error, { while: name });
        errors.push(error);
      }
    }),
  );
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} of ${Object.keys(parts).length} failed.`);
}

/** Several things at once: within the connections that the platform allows, and without one failure ending the others. */
import { logError } from "./log.ts";

/**
 * Calls `work` for every item, at most `most` at a time, and gives the results in the order of the items. The platform
 * opens six connections at a time for one request and queues the rest. After a failure nothing more is begun.
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

/** Connections that the platform opens at a time for one request. */
export const CONNECTIONS = 6;

/**
 * Does everything that is named, at once. One that fails keeps no other from its end and is logged under its name.
 * @throws AggregateError of all failures, when all have ended.
 */
export async function allOf(parts: Record<string, () => Promise<unknown>>): Promise<void> {
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

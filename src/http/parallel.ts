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

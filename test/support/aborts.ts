/** Restarts of every Durable Object while a client waits: work in progress is lost, stored data stays. */
import { abortAllDurableObjects } from "cloudflare:test";
import type { Random } from "./random.ts";

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Aborts all objects this often at random moments of the next `within` milliseconds, and gives what `work` comes to. */
export async function abortsDuring<T>(random: Random, work: Promise<T>, times = 2, within = 300): Promise<T> {
  const moments = Array.from({ length: times }, () => random.between(0, within)).sort((a, b) => a - b);
  const aborting = (async () => {
    let now = 0;
    for (const moment of moments) {
      await pause(moment - now);
      now = moment;
      await abortAllDurableObjects();
    }
  })();
  const [result] = await Promise.allSettled([work, aborting]);
  if (result.status === "rejected") throw result.reason;
  return result.value;
}

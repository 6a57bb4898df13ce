/** A server that counts what the platform bills (tools/bench/workers/counting-worker.ts). */
import { setTimeout as sleep } from "node:timers/promises";
import type { Counts, Meter, Snapshot } from "../workers/counting/counts.ts";
import { withCounts } from "../../../test/support/server.ts";
import { startPlain } from "./plain.ts";
import type { Weir } from "./server.ts";

export async function startCounting(vars: Record<string, string> = {}): Promise<Weir> {
  return startPlain({ config: withCounts(), vars, name: "Weir, counting" });
}

const PAUSE = 50;
/** Looks in a row that see the same counts before the server is taken to be at rest: a thread tells its index with a delay. */
const SAME = 6;
/** A watchdog of a thread comes after four to thirty seconds, and the register of a partition after two. */
const SOON_MS = 31_000;

/** The counts once no object works or is about to: traces and index rows are stored after the end of a run's stream. */
export async function waitUntilSettled(server: Weir): Promise<Counts> {
  let last = "";
  for (let same = 0; ;) {
    const answer = await fetch(`${server.url}/bench/counts?soon=${SOON_MS}`);
    if (!answer.ok) throw new Error(await answer.text());
    const { counts, isBusy } = await answer.json<Snapshot>();
    // A stream that stays open keeps its object active, which is no work.
    const now = JSON.stringify({ ...counts, "active: Thread": 0, "active: TracePartition": 0 });
    same = now === last && !isBusy ? same + 1 : 0;
    if (same === SAME) return counts;
    last = now;
    await sleep(PAUSE);
  }
}

/** What came in between. */
export function difference(before: Counts, after: Counts): Counts {
  const meters = Object.keys(after) as Meter[];
  return Object.fromEntries(meters.map((meter) => [meter, (after[meter] ?? 0) - (before[meter] ?? 0)]));
}

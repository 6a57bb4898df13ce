/** A server that counts what the platform bills (test/support/counting-worker.ts). */
import { setTimeout as sleep } from "node:timers/promises";
import { withCounts } from "../../support/server.ts";
import type { Counts, Meter } from "../../support/counting/counts.ts";
import { startPlain } from "./plain.ts";
import type { Server } from "./server.ts";
import { amount } from "../least.ts";

export async function startCounting(vars: Record<string, string> = {}): Promise<Server> {
  return startPlain({ config: withCounts(), vars, name: "Weir, counting" });
}

const PAUSE = 150;
/** Looks in a row that see the same counts before the server is taken to be at rest. D1 follows a partition after two seconds. */
const SAME = amount(18, 2);

/** The counts once they no longer change: traces and index rows are stored after the end of a run's stream. */
export async function settled(server: Server): Promise<Counts> {
  let last = "";
  for (let same = 0; ;) {
    const answer = await fetch(`${server.url}/bench/counts`);
    if (!answer.ok) throw new Error(await answer.text());
    const counts = await answer.json<Counts>();
    // A stream that stays open keeps its object active, which is no work.
    const now = JSON.stringify({ ...counts, "active: Thread": 0, "active: TracePartition": 0 });
    same = now === last ? same + 1 : 0;
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

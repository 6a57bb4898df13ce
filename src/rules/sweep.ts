/** The sweep of every minute: it wakes the work on partitions whose runs have changed, and what got lost. */
import { database } from "../db/client.ts";
import type { RulePart } from "../automation/rules/store.ts";
import { deleteOldFailures, takeBackfillParts, takeParts } from "../automation/rules/store.ts";

/** A part on which no worker has worked for this time is woken again, milliseconds. */
const LOST_MS = 55_000;
/** Partitions of one sweep. The others come with the next ones. */
const MOST_PARTS = 1_000;
/** Older changes are looked for once an hour: those that earlier sweeps had no place for, or that came to D1 late. Milliseconds. */
const RECENT_MS = 6 * 3_600_000;
const MESSAGES_PER_BATCH = 100;
const FAILURES_MS = 30 * 24 * 3_600_000;

/** Sends a message for every partition with work. Returns how many. */
export async function sweepRules(env: Pick<Env, "DB" | "RULES">, now: number): Promise<number> {
  const db = database(env.DB);
  const isWhole = Math.floor(now / 60_000) % 60 === 0;
  const parts: RulePart[] = [
    ...(await takeParts(db, now - LOST_MS, MOST_PARTS, isWhole ? 0 : now - RECENT_MS)),
    ...(await takeBackfillParts(db, now - LOST_MS, MOST_PARTS)),
  ];
  for (let at = 0; at < parts.length; at += MESSAGES_PER_BATCH) {
    await env.RULES.sendBatch(parts.slice(at, at + MESSAGES_PER_BATCH).map((body) => ({ body })));
  }
  await deleteOldFailures(db, now - FAILURES_MS);
  return parts.length;
}

/**
 * Due work: rows of D1 that have a time at which they are to be worked on. All sweeps keep these rules.
 *
 * - **Lease.** Who takes a row moves its time into the future, or notes that it was touched. No other sweep takes it in the meantime,
 *   and a worker that dies keeps it no longer than that.
 * - **Turns.** A sweep takes a limited number of rows: of each workspace the oldest, then of each the second oldest, and so on.
 * - **Attempts.** What fails is tried again after the times of its schedule. Progress begins the schedule anew: only attempts without
 *   progress are counted, those that end their worker among them.
 */
import { type SQL, sql } from "drizzle-orm";

/**
 * The rows of `items` in turns, as a query with the columns of `items` and `turn`. `items` is a query with the columns `owner` (the
 * workspace), `due`, and `served`: what the workspace has got already, which counts as turns that it has had. It reads all that is due.
 * @param most the turns of one workspace
 */
export function inTurns(items: SQL, limit: number, most?: number): SQL {
  return sql`SELECT * FROM (SELECT *, served + row_number() OVER (PARTITION BY owner ORDER BY due) AS turn FROM (${items}))
    ${most === undefined ? sql`` : sql`WHERE turn <= ${most}`} ORDER BY turn, due LIMIT ${limit}`;
}

/** Seconds before each further attempt. After the last one the work is given up. */
export type RetrySchedule = readonly number[];

/** Effects of a thread, which its alarm carries out to the second. */
export const EFFECT_RETRIES: RetrySchedule = [1, 5, 30, 120, 600, 3_600, 3_600, 3_600];
/** Receivers of an event: they are told of it late rather than never. */
export const DELIVERY_RETRIES: RetrySchedule = [60, 120, 300, 600, 1_800, 3_600];
/** Actions of a rule on a run. */
export const ACTION_RETRIES: RetrySchedule = [10, 60, 300, 1_800];
/** The same time before each attempt. */
export const evenRetries = (attempts: number, seconds: number): RetrySchedule => Array<number>(attempts).fill(seconds);

/**
 * When work is tried again, milliseconds; undefined when it is given up.
 * @param failed the attempts without progress that have failed before this one
 */
export function retryTime(schedule: RetrySchedule, failed: number, now: number): number | undefined {
  const seconds = schedule[failed];
  return seconds === undefined ? undefined : now + seconds * 1000;
}

/** Changes that read a row first: they write it only where it is still as it was read, so that no other change is lost. */
import { Problem } from "../lib/problem.ts";

/** What a change gives when another request has changed the row since it was read. */
export const CHANGED = Symbol("changed");

const TRIES = 50;

/** Carries out a change that reads a row and writes it, again for as long as others change the row in between. */
export async function untilUnchanged<T>(change: () => Promise<T | typeof CHANGED>): Promise<T> {
  for (let attempt = 1; attempt <= TRIES; attempt++) {
    const done = await change();
    if (done !== CHANGED) return done;
    // Concurrent writers retry at different times.
    await scheduler.wait(Math.random() * 10 * attempt);
  }
  const headers = { "retry-after": "1" };
  throw new Problem(503, "Too many requests change this at once. Send the request again.", { headers });
}

/** The time of a change, which is also the version of the row: no two changes of a row have the same. Milliseconds. */
export const nextTime = (before: number): number => Math.max(Date.now(), before + 1);

/** Whether a statement failed because another row has a value that is unique, such as a name. */
export function isTaken(error: unknown, table = ""): boolean {
  if (!(error instanceof Error)) return false;
  return error.message.includes(`UNIQUE constraint failed: ${table}`) || isTaken(error.cause, table);
}

/** Which run has asked a question. */
import type { ThreadContext } from "../context.ts";
import { storedRun, type StoredRun } from "../run.ts";
import type { Interrupt } from "../types.ts";

/** Newest runs that executed, among which the one that asked is looked for. */
const LOOKED_AT = 50;

/** The newest run that has asked the question. Undefined where it was asked on the thread of which this one is a copy. */
export function runThatAsked({ tables }: Pick<ThreadContext, "tables">, id: string): StoredRun | undefined {
  let left = LOOKED_AT;
  for (const row of tables.runs.list(Infinity, 0)) {
    const run = storedRun(row);
    if (idsIn(Object.values(run.outcome.interrupts ?? {}).flat()).includes(id)) return run;
    // A run that waits or was refused has left the questions as they were.
    if (run.outcome.attempt > 0 && !run.outcome.refusal && (left -= 1) === 0) return undefined;
  }
  return undefined;
}

const idsIn = (raised: Interrupt[]): string[] => raised.flatMap((one) => one.id ?? []);

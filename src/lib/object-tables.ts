/**
 * The format of what Durable Objects store. Each object keeps the number of the version that wrote it last. A version that
 * meets a higher number than its own has been rolled back: it answers 503 and writes nothing.
 */
import { remoteProblem } from "./problem.ts";

/**
 * Raise one with a change that the version before cannot read or would damage. A table, column or field that the version
 * before ignores needs no new number. 2 of a thread: its tables share one table of SQLite (threads/store/statements.ts); 3: checkpoints
 * share the rows of their events (threads/store/packs.ts). A thread with a table for each stays at 1. 3 of a partition: some of its runs are not in the
 * index of ids (traces/partition/store/ids.ts); 4: its roots are not in the index of traces.
 */
export const FORMATS = { thread: 3, index: 1, partition: 4 } as const;

/** When an object that a newer version wrote looks again, milliseconds: its due work waits for that version. */
export const NEWER_ALARM_MS = 5 * 60_000;

/** Whether a newer version wrote an object of this format. Absent: a version before formats were kept. */
export const isNewer = (stored: number | undefined, of: keyof typeof FORMATS): boolean => (stored ?? 0) > FORMATS[of];

/** 503. */
export function newerFormat(): Error {
  return remoteProblem(
    503,
    "A newer version of Weir wrote this data, and this version cannot read it. Nothing was changed. Deploy the newer version again.",
  );
}

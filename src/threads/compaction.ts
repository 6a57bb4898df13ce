/** When a thread's log is compacted, and the transaction that does it. What is merged is in log/compact.ts. */
import { nextPass } from "./log/compact.ts";
import type { ThreadContext } from "./context.ts";
import type { ThreadRecord } from "./record.ts";

/** How long a thread must have been at rest: clients that lost their connection still find every token until then. */
const COMPACT_AFTER_MS = 10 * 60_000;
/** The number of deltas of a run from which merging them repays the alarm and the row writes. */
const WORTHWHILE = 10;

/** How far a thread is compacted, and when to continue, after a run with this many deltas. */
export function compactLater({ compacted }: ThreadRecord, deltas: number, now: number): ThreadRecord["compacted"] {
  const { through = 0, due } = compacted ?? {};
  return deltas > WORTHWHILE || due !== undefined ? { through, due: now + COMPACT_AFTER_MS } : compacted;
}

/** Compacts the next part of the log. The record says how far it has come, and whether there is more to do. */
export function compact(context: ThreadContext): void {
  const { tables, eventLog, record } = context;
  if (!record) return;
  const { rows, through, more } = nextPass(tables, record.compacted?.through ?? 0, eventLog.visible);
  const compacted = { ...record, compacted: { through, ...(more && { due: Date.now() }) } };
  tables.transaction(() => {
    for (const row of rows) tables.setEvents(row);
    context.writeRecord(compacted);
  });
  context.keepRecord(compacted);
  eventLog.recent.forget();
}

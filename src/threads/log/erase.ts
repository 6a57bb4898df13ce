/** The events of a deleted run leave the log. That the run began and ended stays, because readers have seen a part of it. */
import { eventsIn, toEventsRow } from "./compact.ts";
import type { EventMethod, EventText } from "./events.ts";
import type { Json } from "../../lib/json.ts";
import type { Removal } from "../record.ts";
import type { EventsRow } from "../store/statements.ts";
import type { Tables } from "../store/tables.ts";

/** Characters of events that one pass reads, so that any events fit in memory. */
const PASS = 4_000_000;

/** Whether the event is one of those that a deletion erases, of the run and its time. */
export const isOfDeletedRun = (
  removals: readonly Removal[] | undefined,
  { run, seq }: Pick<EventText, "run" | "seq">,
): boolean => removals?.some(({ run_id, from = 1, to = 0 }) => run_id === run && seq >= from && seq <= to) ?? false;

/** That a run began, ended, or answered which question. They have no words of the run, apart from an error. */
const STAYING: EventMethod[] = ["lifecycle", "metadata", "input.answered"];

/** Whether a deletion leaves the event. */
export const staysAfterDeletion = ({ method, ns }: Pick<EventText, "method" | "ns">): boolean =>
  ns.length === 0 && STAYING.includes(method);

/** The part of its data that stays: an error has words of the run. */
export function withoutError(data: Json | null): Json | null {
  const { error: _error, ...rest } = data ?? {};
  return rest;
}

/** The next rows that a deletion changes, and the number from which the next pass goes on; undefined when none is left. */
export function nextErasure(tables: Tables, removal: Removal): { rows: EventsRow[]; next?: number } {
  const { from = 1, to = 0 } = removal;
  const rows: EventsRow[] = [];
  let size = 0;
  for (const row of to < from ? [] : tables.eventsAfter(from - 1)) {
    if (row.first_seq > to) break;
    if (size > PASS) return { rows, next: row.first_seq };
    size += row.events.length;
    const events = eventsIn(row);
    if (!events.some((event) => isOfDeletedRun([removal], event))) continue;
    const left = events.flatMap((event) => {
      if (!isOfDeletedRun([removal], event)) return [event];
      return staysAfterDeletion(event) ? [{ ...event, data: withoutError(event.data) }] : [];
    });
    rows.push({ ...row, ...toEventsRow(left) });
  }
  return { rows };
}

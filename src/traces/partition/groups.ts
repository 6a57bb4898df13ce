/**
 * Groups: runs of one trace with consecutive numbers, which one transaction has inserted. Only the first run of a group is in
 * the index of traces, because each entry of an index is a row that is billed. Its column `led` is the number of runs behind it
 * in the group; theirs is -1. A run whose place is derived is in a group of its own: its trace can change.
 */
import type { RunRow } from "./tables.ts";

/** The numbers of the runs of some traces, as a list in SQL. `traces` is SQL for their ids. */
export function numbersOfTraces(traces: string): string {
  return `(SELECT f.n FROM runs l CROSS JOIN runs f ON f.n BETWEEN l.n AND l.n + l.led
    WHERE l.led >= 0 AND l.trace_id ${traces} AND f.trace_id = l.trace_id)`;
}

/** The same for the ids in a JSON list, which is its one bound value. */
export const OF_TRACES = numbersOfTraces("IN (SELECT value FROM json_each(?))");

/** Puts the runs of a trace beside each other, in the order of the first. */
export function byTrace<T extends Pick<RunRow, "trace_id">>(rows: T[]): T[] {
  return [...Map.groupBy(rows, ({ trace_id }) => trace_id).values()].flat();
}

/** Sets `led` of new runs with consecutive numbers. */
export function groupRuns(rows: Pick<RunRow, "trace_id" | "placed" | "led">[]): void {
  let first: (typeof rows)[number] | undefined;
  for (const row of rows) {
    const follows = row.placed !== 0 && first?.trace_id === row.trace_id;
    row.led = follows ? -1 : 0;
    if (follows && first) first.led += 1;
    else first = row.placed === 0 ? undefined : row;
  }
}

/** Puts each run of the groups of these runs into the index of traces. */
export function dissolveGroups(sql: SqlStorage, numbers: number[]): void {
  for (const n of numbers) {
    const [first] = sql
      .exec<{ n: number; led: number }>("SELECT n, led FROM runs WHERE n <= ? AND led >= 0 ORDER BY n DESC LIMIT 1", n)
      .toArray();
    if (first && first.led > 0)
      sql.exec("UPDATE runs SET led = 0 WHERE n BETWEEN ? AND ?", first.n, first.n + first.led);
  }
}

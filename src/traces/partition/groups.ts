/** Putting runs into groups, and groups apart (../groups.ts). */
import type { RunRow } from "./tables.ts";

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

/** Putting runs into groups, and groups apart (../run-groups.ts). */
import type { RunRow } from "./store/tables.ts";

/** Puts the runs of a trace beside each other, in the order of the first. */
export function byTrace<T extends Pick<RunRow, "trace_id">>(rows: T[]): T[] {
  return [...Map.groupBy(rows, ({ trace_id }) => trace_id).values()].flat();
}

/** Sets `followers` of new runs with consecutive numbers. */
export function groupRuns(rows: Pick<RunRow, "trace_id" | "placed" | "followers">[]): void {
  let first: (typeof rows)[number] | undefined;
  for (const row of rows) {
    const follows = row.placed !== 0 && first?.trace_id === row.trace_id;
    row.followers = follows ? -1 : 0;
    if (follows && first) first.followers += 1;
    else first = row.placed === 0 ? undefined : row;
  }
}

/** Puts each run of the groups of these runs into the index of traces. */
export function dissolveGroups(sql: SqlStorage, numbers: number[]): void {
  for (const n of numbers) {
    const [first] = sql
      .exec<{ n: number; followers: number }>(
        "SELECT n, followers FROM runs WHERE n <= ? AND followers >= 0 ORDER BY n DESC LIMIT 1",
        n,
      )
      .toArray();
    if (first && first.followers > 0)
      sql.exec("UPDATE runs SET followers = 0 WHERE n BETWEEN ? AND ?", first.n, first.n + first.followers);
  }
}

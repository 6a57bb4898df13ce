/**
 * The changes of a partition's runs, numbered in ascending order. Each transaction that changes runs has a number, and a run has
 * the number of its last change. An export notes the number of the last change that it has seen, and so knows later what came
 * after it. A number is at least the time in milliseconds: a partition that is destroyed and made again has lost its counter,
 * and its numbers must be above those that exports have noted.
 */
import { OF_TRACES } from "../../run-groups.ts";
import { addToCounts, readMeta } from "./meta.ts";
import { OF_IDS } from "./ids.ts";

export function lastChange(sql: SqlStorage): number {
  return readMeta(sql, "counts")?.changes ?? 0;
}

/** The number for a new change. `addToCounts` notes it. */
export function newChange(sql: SqlStorage): number {
  return Math.max(lastChange(sql) + 1, Date.now());
}

/** The number of a new change, noted. To be called once in a transaction that changes runs. */
export function nextChange(sql: SqlStorage): number {
  const changes = newChange(sql);
  addToCounts(sql, { rows: 0, bytes: 0, lastStart: 0 }, changes);
  return changes;
}

/** Gives runs the number of a change, by their ids or by their traces. */
export function numberRuns(sql: SqlStorage, change: number, by: "id" | "trace", ids: string[]): void {
  if (ids.length === 0) return;
  const these = by === "id" ? OF_IDS : OF_TRACES;
  sql.exec(`UPDATE runs SET change = ? WHERE change <> ? AND n IN ${these}`, change, change, JSON.stringify(ids));
}

/** The number of the first run that a later change has inserted. Runs are inserted in the order of their numbers. */
export function firstInsertedAfter(sql: SqlStorage, change: number): number {
  let [low, high] = [1, (sql.exec<{ last: number | null }>("SELECT max(n) AS last FROM runs").one().last ?? 0) + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const { n, first_change } = sql
      .exec<{ n: number; first_change: number }>(
        "SELECT n, first_change FROM runs WHERE n >= ? ORDER BY n LIMIT 1",
        middle,
      )
      .one();
    if (first_change > change) high = middle;
    else low = n + 1;
  }
  return low;
}

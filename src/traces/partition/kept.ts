/** The traces that are kept for longer than the others of their project, because a rule extends them (src/automation/rules/actions.ts). */
import { numbersOfTraces } from "../run-groups.ts";

export function keepTraces(sql: SqlStorage, traceIds: string[]): void {
  sql.exec("INSERT OR IGNORE INTO kept (trace_id) SELECT value FROM json_each(?)", JSON.stringify(traceIds));
}

/** Which of these traces are kept. */
export function findKept(sql: SqlStorage, traceIds: string[]): string[] {
  const rows = sql.exec<{ trace_id: string }>(
    "SELECT trace_id FROM kept WHERE trace_id IN (SELECT value FROM json_each(?))",
    JSON.stringify(traceIds),
  );
  return rows.toArray().map(({ trace_id }) => trace_id);
}

/** Whether a kept trace has a run here. */
export function holdsKept(sql: SqlStorage): boolean {
  const found = sql.exec(`SELECT 1 FROM kept k WHERE EXISTS ${numbersOfTraces("SELECT k.trace_id AS id")} LIMIT 1`);
  return found.toArray().length > 0;
}

/** Whether a run here is of another trace. */
export function holdsOthers(sql: SqlStorage): boolean {
  return sql.exec("SELECT 1 FROM runs WHERE trace_id NOT IN (SELECT trace_id FROM kept) LIMIT 1").toArray().length > 0;
}

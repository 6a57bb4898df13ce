/** The sums of sealed blocks, in the table `rollups`. */
import { addSums, type Group, groupOf, type Groups, type GroupKey } from "./groups.ts";

/** A block of more groups has no sums: its runs are read instead. */
const MOST_GROUPS = 128;

const COLUMNS = [
  "hour",
  "name",
  "run_type",
  "status",
  "is_root",
  "model",
  "run_count",
  "streaming_count",
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
  "last_run_start_time",
  "latencies",
  "first_tokens",
] as const;

/** Replaces the sums of a block. False when it has too many groups. */
export function writeSums(sql: SqlStorage, block: number, groups: Groups): boolean {
  sql.exec("DELETE FROM rollups WHERE block = ?", block);
  if (groups.size > MOST_GROUPS) return false;
  let n = 0;
  for (const group of groups.values()) {
    const values = COLUMNS.map((column) => {
      const value = group[column];
      return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
    });
    sql.exec(
      `INSERT INTO rollups (block, n, ${COLUMNS.join(", ")}) VALUES (?, ?, ${COLUMNS.map(() => "?").join(", ")})`,
      block,
      n++,
      ...values,
    );
  }
  return true;
}

/** Adds the sums of sealed blocks that pass the condition, which is on `r`. */
export function addStored(
  sql: SqlStorage,
  groups: Groups,
  condition: { sql: string; values: (string | number)[] },
  keyOf: (key: GroupKey) => string,
): void {
  const rows = sql.exec<Record<string, SqlStorageValue>>(
    `SELECT ${COLUMNS.map((column) => `r.${column}`).join(", ")} FROM blocks b CROSS JOIN (
       SELECT *, CASE status WHEN 'error' THEN '' END AS error FROM rollups
     ) r ON r.block = b.block WHERE b.has_sums = 1 AND ${condition.sql}`,
    ...condition.values,
  );
  for (const row of rows) {
    const stored = row as unknown as Group & { latencies: string; first_tokens: string };
    const group = groupOf(groups, keyOf(stored), {
      hour: stored.hour,
      name: stored.name,
      run_type: stored.run_type,
      status: stored.status,
      is_root: stored.is_root,
      model: stored.model,
    });
    addSums(group, {
      ...stored,
      error_count: stored.status === "error" ? stored.run_count : 0,
      latencies: JSON.parse(stored.latencies) as Record<string, number>,
      first_tokens: JSON.parse(stored.first_tokens) as Record<string, number>,
    });
  }
}

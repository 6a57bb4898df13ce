/** The runs of one trace without what they were given and gave. */
import type { PartitionIdentity, TreeRun } from "../types.ts";
import { numbersOfTraces } from "../run-groups.ts";

type Row = Omit<TreeRun, "session_id" | "parent_run_ids"> & { parent_run_ids: string };

/** The first runs, each after its parent, siblings by their begin. Reads `runs` only: the other columns and the payloads take most of the time. */
export function traceTree(
  sql: SqlStorage,
  { projectId }: PartitionIdentity,
  traceId: string,
  limit: number,
): TreeRun[] {
  const rows = sql.exec(
    `SELECT id, trace_id, parent_run_ids, dotted_order, name, run_type, start_time, end_time, status,
       first_token_time, total_tokens, total_cost
     FROM runs WHERE n IN ${numbersOfTraces("SELECT ? AS id")} ORDER BY dotted_order LIMIT ?`,
    traceId,
    limit,
  ) as unknown as Iterable<Row>;
  return Array.from(rows, (row) => ({
    ...row,
    parent_run_ids: JSON.parse(row.parent_run_ids) as string[],
    session_id: projectId,
  }));
}

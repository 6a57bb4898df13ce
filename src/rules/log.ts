/** The log of a rule: the runs that it has taken, by what became of them. */
import { database } from "../db/client.ts";
import type { RuleRunState } from "../traces/rpc.ts";
import { tracePartition } from "../traces/stub.ts";
import { toWireFailure, toWireTaken } from "../automation/rules/row.ts";
import type { ListLogs } from "../automation/rules/schema.ts";
import { failuresOn, listFailures, listParts, type RuleRow } from "../automation/rules/store.ts";

/** Days of the project, with their shards, that a page reads. */
const MOST_PARTS = 50;

/** A page of the log. Failures are in D1; which runs wait and which are done, the partitions know. */
export async function readLog(env: Env, rule: RuleRow, { status, ...wanted }: ListLogs) {
  const db = database(env.DB);
  if (status === undefined || status === "failed") {
    const isFinal = status && true;
    return (await listFailures(db, rule.id, { ...wanted, isFinal })).map(toWireFailure);
  }
  const { offset, limit } = wanted;
  const state = status === "pending" ? "due" : "done";
  const found: RuleRunState[] = [];
  for (const { day, shard } of await listParts(db, rule.id, state, MOST_PARTS)) {
    const left = offset + limit - found.length;
    if (left <= 0) break;
    const partition = tracePartition(env, rule.workspaceId, { projectId: rule.projectId, day, shard });
    found.push(...(await partition.listForRule({ rule: rule.id, state, limit: left })));
  }
  const page = found.slice(offset);
  const failures = await failuresOn(
    db,
    rule.id,
    page.map(({ id }) => id),
  );
  const byRun = new Map(failures.map((failure) => [failure.runId, failure]));
  return page.map((one) => toWireTaken(rule, one, byRun.get(one.id)));
}

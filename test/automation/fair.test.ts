/** A workspace with a backlog beside one with a single item: the sweeps of rules, crons and alerts. */
import { env } from "cloudflare:workers";
import { afterEach, expect, it } from "vitest";
import { dueAlerts } from "../../src/automation/alerts/store.ts";
import { dueCrons, recordDue, takeFirings } from "../../src/automation/crons/store.ts";
import { takeBackfillParts, takeParts } from "../../src/automation/rules/store.ts";
import { database } from "../../src/db/client.ts";

const db = database(env.DB);
const run = async (text: string, ...values: unknown[]) =>
  env.DB.prepare(text)
    .bind(...values)
    .run();
const numbers = (most: number) => `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${most})`;

/** Two workspaces whose names no other test has. */
const newPair = () => {
  const mark = crypto.randomUUID();
  return { busy: `busy ${mark}`, small: `small ${mark}` };
};
afterEach(async () => {
  for (const table of ["run_rules", "trace_partitions", "crons", "cron_firings", "alerts"])
    await run(`DELETE FROM ${table} WHERE workspace_id LIKE 'busy %' OR workspace_id LIKE 'small %'`);
});

async function newRules(workspaceId: string, rules: number, partitions: number) {
  await run(
    `${numbers(rules)} INSERT INTO run_rules (id, workspace_id, project_id, name, sampling_rate, is_enabled, actions, since, created_at, updated_at)
     SELECT ?1 || i, ?1, ?1, 'rule', 1, 1, '{}', 0, 0, 0 FROM n`,
    workspaceId,
  );
  await run(
    `${numbers(partitions)} INSERT INTO trace_partitions (workspace_id, project_id, day, shard, "rows", bytes, last_run_start_time, changes)
     SELECT ?1, ?1, '2026-11-' || i, 0, 1, 1, 0, ?2 FROM n`,
    workspaceId,
    Date.now(),
  );
}

it("a rule has its turn beside 3,000 busy partitions of another workspace, and those in the next sweeps", async () => {
  const { busy, small } = newPair();
  await newRules(busy, 100, 30);
  await newRules(small, 1, 1);
  const sweep = async () => (await takeParts(db, Date.now() + 1, 1_000)).map(({ ruleId }) => ruleId);
  const first = await sweep();
  expect(first).toHaveLength(1_000);
  expect(first.slice(0, 10).some((id) => id.startsWith(small))).toBe(true);
  // What was taken waits behind the rest, also where no worker has been yet.
  const seen = new Set<string>();
  for (let n = 0; n < 3; n++) {
    const parts = await takeParts(db, Date.now() - 1_000, 1_000);
    for (const { ruleId, day } of parts) {
      expect(seen.has(`${ruleId} ${day}`)).toBe(false);
      seen.add(`${ruleId} ${day}`);
    }
  }
  const taken = [...seen, ...first].filter((name) => name.startsWith(busy));
  expect(taken).toHaveLength(3_000);
});

it("a backfill has its turn beside the parts of another workspace's", async () => {
  const { busy, small } = newPair();
  await newRules(busy, 3, 1);
  await newRules(small, 1, 1);
  for (const [workspace, rules] of [
    [busy, 3],
    [small, 1],
  ] as const) {
    await run(
      `${numbers(rules)} INSERT INTO rule_backfills (id, rule_id, start_time, end_time, created_at, touched_at)
       SELECT 'b ' || ?1 || i, ?1 || i, 0, 1, 0, 0 FROM n`,
      workspace,
    );
    await run(
      `${numbers(workspace === busy ? 900 : 1)} INSERT INTO rule_backfill_parts (backfill_id, day, shard)
       SELECT b.id, 'day ' || i, 0 FROM n, rule_backfills b WHERE b.rule_id LIKE ?1 || '%'`,
      workspace,
    );
  }
  const taken = await takeBackfillParts(db, Date.now(), 1_000);
  expect(taken.filter(({ ruleId }) => ruleId.startsWith(small))).toHaveLength(1);
});

it("a cron fires in its minute beside thousands of another workspace, and so does the work after it", async () => {
  const { busy, small } = newPair();
  const now = Date.now();
  const insert = (workspace: string, count: number, due: number) =>
    run(
      `${numbers(count)} INSERT INTO crons (id, workspace_id, assistant_id, thread_id, schedule, next_run_date, enabled, payload, metadata, created_at, updated_at)
       SELECT ?1 || i, ?1, 'a', 't', '* * * * *', ?2, 1, '{}', '{}', 0, 0 FROM n`,
      workspace,
      due,
    );
  await insert(busy, 3_000, now - 600_000);
  await insert(small, 1, now);
  const due = await dueCrons(db, now, 500);
  expect(due.some(({ id }) => id.startsWith(small))).toBe(true);
  await recordDue(
    db,
    due.map((cron) => ({ id: cron.id, from: cron.nextRunDate, due: [cron.nextRunDate], next: now + 60_000 })),
  );
  await run(
    `${numbers(3_000)} INSERT INTO cron_firings (workspace_id, cron_id, due, state, touched_at) SELECT ?1, 'x' || ?1, i, 'due', 0 FROM n`,
    busy,
  );
  const taken = await takeFirings(db, "due", { before: now, now, limit: 1_000 });
  expect(taken.some(({ workspaceId }) => workspaceId === small)).toBe(true);
});

it("an alert is evaluated in its minute beside those of another workspace that wait for longer", async () => {
  const { busy, small } = newPair();
  const now = Date.now();
  const insert = (workspace: string, count: number, at: number) =>
    run(
      `${numbers(count)} INSERT INTO alerts (id, workspace_id, project_id, name, is_enabled, condition, channels, state, streak, changed_at, evaluated_at, created_at, updated_at)
       SELECT ?1 || i, ?1, 'p', 'a', 1, '{}', '[]', 'ok', 0, 0, ?2, 0, 0 FROM n`,
      workspace,
      at,
    );
  await insert(busy, 2_000, now - 600_000);
  await insert(small, 1, now - 60_000);
  const due = await dueAlerts(db, now - 50_000, 500);
  expect(due).toHaveLength(500);
  expect(due.findIndex(({ workspaceId }) => workspaceId === small)).toBeLessThan(20);
});

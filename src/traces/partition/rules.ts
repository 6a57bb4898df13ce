/**
 * Which runs the rules of a workspace have taken. One transaction finds the runs that match and notes them, so that each is
 * taken once by a rule, also when a worker is killed in between. A partition of a project without rules has no row of this.
 */
import type {
  RuleCounts,
  RulePause,
  RuleRunsRequest,
  RuleRunState,
  RuleOutcome,
  RuleBatch,
  RuleRun,
  TakeRequest,
} from "../rpc.ts";
import { OF_TRACES, numbersOfId, OF_IDS } from "./store/ids.ts";
import type { PartitionIdentity } from "../types.ts";
import { firstInsertedAfter, lastChange } from "./store/changes.ts";
import { selectionCondition } from "./read/selection.ts";

// Sampling of runs by their ids.

/**
 * Whether a run belongs to the part `rate` of all runs. It depends on the id alone: a repeated look gives the same answer, and the
 * runs of a smaller part are among those of a larger one.
 */
export function isRunSampled(id: string, rate: number): boolean {
  return rate >= 1 || hashId(id) < rate * 2 ** 32;
}

/** FNV-1a with the last steps of MurmurHash3, which spread ids that differ in one digit. */
function hashId(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** How many runs are looked at in one step, and in one call. */
const STEP = 2_000;
const MAX_STEPS = 10;

/** The member of a run's metadata that says that an evaluator of a rule made it. No rule takes such a run. */
const isOwn = (runs: string) => `json_extract(${runs}.metadata, '$.weir_rule_id') IS NOT NULL`;

const NONE: RuleCounts = { taken: 0, done: 0, failed: 0, cost: 0 };

/** How far a reading has come: the change and the number of its last run. */
interface Position {
  change: number;
  n: number;
}

/** Takes runs. To be called inside a transaction. */
export function takeForRule(sql: SqlStorage, identity: PartitionIdentity, request: TakeRequest): RuleBatch {
  const { rule, limit, lease } = request;
  const now = Date.now();
  const due = dueRuns(sql, rule, limit, now);
  let isOver = due.length === limit;
  for (let step = 0; !isOver && step < MAX_STEPS; step++) {
    const left = readOn(sql, identity, request);
    due.push(...dueRuns(sql, rule, limit, now, due));
    isOver = !left || due.length >= limit;
  }
  const runs = withoutSuspects(due.slice(0, limit)).map(({ n, id, attempts, did }): RuleRun => {
    sql.exec("UPDATE rule_runs SET attempts = attempts + 1, due = ? WHERE n = ? AND rule = ?", now + lease, n, rule);
    return { id, attempt: attempts + 1, done: JSON.parse(did) as string[] };
  });
  const left = nextRuns(sql, request, 1).next !== undefined;
  return {
    runs,
    more: left || dueRuns(sql, rule, 1, now).length > 0,
    // No run has the number of a change that only deletes, or that is of feedback.
    change: left ? readPosition(sql, request).change : lastChange(sql),
    counts: readRuleCounts(sql, rule),
  };
}

/** Notes what became of runs. A run that is over stays so. To be called inside a transaction. */
export function settleForRule(sql: SqlStorage, rule: string, settled: RuleOutcome[]): RuleCounts {
  const sum = { ...NONE };
  for (const { id, state, did, cost, wait = 0 } of settled) {
    const written = sql.exec(
      `UPDATE rule_runs SET state = ?1, cost = cost + ?2, due = ?3, did = iif(?4 IS NULL, did, json_insert(did, '$[#]', ?4)),
         attempts = iif(?4 IS NULL, attempts, 1) - ?5
       WHERE rule = ?6 AND state = 'due' AND n IN ${OF_IDS.replace("?", "?7")} RETURNING n`,
      state,
      cost,
      state === "due" ? wait && Date.now() + wait : null,
      did ?? null,
      Number(state === "due" && wait === 0),
      rule,
      JSON.stringify([id]),
    );
    if (written.toArray().length === 0) continue;
    if (state !== "due") sum[state]++;
    sum.cost += cost;
  }
  addCounts(sql, rule, sum);
  return readRuleCounts(sql, rule);
}

/** Runs of all rules among which those that are done are looked for. */
const MAX_LOOKED_AT = 20_000;

export function listForRule(sql: SqlStorage, { rule, state, limit }: RuleRunsRequest): RuleRunState[] {
  const rows =
    state === "due"
      ? sql.exec<Listed>(
          `SELECT r.id, d.attempts, d.did, d.due FROM rule_runs d CROSS JOIN runs r ON r.n = d.n
           WHERE d.rule = ? AND d.state = 'due' ORDER BY d.due, d.n LIMIT ?`,
          rule,
          limit,
        )
      : sql.exec<Listed>(
          `SELECT r.id, d.attempts, d.did, d.due FROM (SELECT * FROM rule_runs ORDER BY n DESC LIMIT ${MAX_LOOKED_AT}) d
           CROSS JOIN runs r ON r.n = d.n WHERE d.rule = ? AND d.state = 'done' ORDER BY d.n DESC LIMIT ?`,
          rule,
          limit,
        );
  return rows.toArray().map(({ did, ...run }) => ({ ...run, done: JSON.parse(did) as string[] }));
}

type Listed = Omit<RuleRunState, "done"> & { did: string } & Record<string, SqlStorageValue>;

/** A run that was given this often without an end may be what kills its workers. */
const SUSPECT_ATTEMPTS = 3;

/** The runs before the first suspect, or that one alone: it takes no other run with it. */
function withoutSuspects(due: Due[]): Due[] {
  const first = due.findIndex(({ attempts }) => attempts >= SUSPECT_ATTEMPTS);
  return first === -1 ? due : due.slice(0, Math.max(1, first));
}

/** Deleted runs are not worked on. Those that were not over count as failed. To be called inside a transaction. */
export function forgetRuns(sql: SqlStorage, numbers: number[]): void {
  const gone = sql.exec<{ rule: string; state: string }>(
    "DELETE FROM rule_runs WHERE n IN (SELECT value FROM json_each(?)) RETURNING rule, state",
    JSON.stringify(numbers),
  );
  for (const { rule, state } of gone.toArray()) if (state === "due") addCounts(sql, rule, { ...NONE, failed: 1 });
}

interface Due extends Record<string, SqlStorageValue> {
  n: number;
  id: string;
  attempts: number;
  did: string;
}

function dueRuns(sql: SqlStorage, rule: string, limit: number, now: number, but: Due[] = []): Due[] {
  const rows = sql.exec<Due>(
    `SELECT d.n, r.id, d.attempts, d.did FROM rule_runs d CROSS JOIN runs r ON r.n = d.n
     WHERE d.rule = ? AND d.state = 'due' AND d.due <= ? ORDER BY d.due, d.n LIMIT ?`,
    rule,
    now,
    limit,
  );
  const known = new Set(but.map(({ n }) => n));
  return rows.toArray().filter(({ n }) => !known.has(n));
}

/** Reads the next runs and notes those that the rule takes. False when there were none. */
function readOn(sql: SqlStorage, identity: PartitionIdentity, request: TakeRequest): boolean {
  const { rule, reading, selection, rate } = request;
  const { rows, next } = nextRuns(sql, request);
  if (next === undefined) return false;
  const numbers = JSON.stringify(rows);
  const condition = selectionCondition(sql, identity, selection);
  // Another run of the trace can make a run match a filter on the trace.
  const isOfTrace = Boolean(selection.traceFilter || selection.treeFilter);
  const among = isOfTrace ? `r.n IN ${OF_TRACES}` : "r.n IN (SELECT value FROM json_each(?))";
  const traces = isOfTrace ? JSON.stringify(selectTraces(sql, numbers)) : numbers;
  const matching = sql.exec<{ n: number; id: string }>(
    `SELECT r.n, r.id FROM runs r WHERE ${among} AND r.end_time IS NOT NULL AND NOT (${isOwn("r")})
       AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.n IN ${numbersOfId("r.trace_id")} AND ${isOwn("o")})
       AND ${condition.sql}`,
    traces,
    ...condition.values,
  );
  const taken = matching.toArray().filter(({ id }) => isRunSampled(id, rate));
  const noted = sql.exec(
    "INSERT OR IGNORE INTO rule_runs (n, rule, due) SELECT value, ?, 0 FROM json_each(?) RETURNING n",
    rule,
    JSON.stringify(taken.map(({ n }) => n)),
  );
  const fresh = noted.toArray().length;
  if (fresh > 0) addCounts(sql, rule, { ...NONE, taken: fresh });
  sql.exec(
    "INSERT OR REPLACE INTO rule_readings (rule, reading, change, n) VALUES (?, ?, ?, ?)",
    rule,
    reading,
    next.change,
    next.n,
  );
  return true;
}

function selectTraces(sql: SqlStorage, numbers: string): string[] {
  return sql
    .exec<{ id: string }>(
      "SELECT DISTINCT trace_id AS id FROM runs WHERE n IN (SELECT value FROM json_each(?))",
      numbers,
    )
    .toArray()
    .map(({ id }) => id);
}

function readPosition(sql: SqlStorage, { rule, reading, reach }: TakeRequest): Position {
  const [known] = sql
    .exec<{ change: number; n: number }>(
      "SELECT change, n FROM rule_readings WHERE rule = ? AND reading = ?",
      rule,
      reading,
    )
    .toArray();
  if (!("since" in reach)) return known ?? { change: 0, n: 0 };
  const position = known && known.change > reach.since ? known : { change: reach.since, n: Number.MAX_SAFE_INTEGER };
  const pause = findPause(reach.pauses, position.change);
  return pause?.[1] == null ? position : { change: pause[1] - 1, n: Number.MAX_SAFE_INTEGER };
}

/** The pause in which a change was. */
const findPause = (pauses: RulePause[] = [], change: number): RulePause | undefined =>
  pauses.find(([from, to]) => change >= from && change < (to ?? Infinity));

/** The numbers of the next runs of the reading, and the position behind them. */
function nextRuns(sql: SqlStorage, request: TakeRequest, most = STEP): { rows: number[]; next?: Position } {
  const { reach } = request;
  const position = readPosition(sql, request);
  const found =
    "since" in reach
      ? changedRuns(sql, position, most)
      : sql
          .exec<Read>(
            "SELECT n, 0 AS change FROM runs WHERE n > ? AND start_time >= ? AND start_time < ? ORDER BY n LIMIT ?",
            position.n,
            reach.startTime,
            reach.endTime,
            most,
          )
          .toArray();
  const pauses = "since" in reach ? reach.pauses : [];
  const rows = found.filter(({ change }) => !findPause(pauses, change)).map(({ n }) => n);
  return { rows, next: found.at(-1) };
}

type Read = Position & Record<string, SqlStorageValue>;

/**
 * The first runs after a position, in the order of their changes: those that were changed after they came, by their index, and those
 * that are as they came, by their numbers. Of the latter only those before the last of the former are read, so that what a call reads
 * does not grow with what waits.
 */
function changedRuns(sql: SqlStorage, { change, n }: Position, most: number): Position[] {
  const later = sql
    .exec<Read>(
      `SELECT n, change FROM runs INDEXED BY runs_change
       WHERE change > first_change AND change >= ? AND (change, n) > (?, ?) ORDER BY change, n LIMIT ?`,
      change,
      change,
      n,
      most,
    )
    .toArray();
  const last = later.length === most ? later.at(-1)?.change : undefined;
  const asTheyCame = sql
    .exec<Read>(
      "SELECT n, change FROM runs WHERE n >= ? AND n < ? AND change = first_change AND (change, n) > (?, ?) ORDER BY n LIMIT ?",
      firstInsertedAfter(sql, change - 1),
      last === undefined ? Number.MAX_SAFE_INTEGER : firstInsertedAfter(sql, last),
      change,
      n,
      most,
    )
    .toArray();
  return [...asTheyCame, ...later].sort((a, b) => a.change - b.change || a.n - b.n).slice(0, most);
}

function readRuleCounts(sql: SqlStorage, rule: string): RuleCounts {
  const [row] = sql
    .exec<{ taken: number; done: number; failed: number; cost: number }>(
      "SELECT taken, done, failed, cost FROM rule_counts WHERE rule = ?",
      rule,
    )
    .toArray();
  const { taken = 0, done = 0, failed = 0, cost = 0 } = row ?? {};
  return { taken, done, failed, cost };
}

function addCounts(sql: SqlStorage, rule: string, { taken, done, failed, cost }: RuleCounts): void {
  sql.exec(
    `INSERT INTO rule_counts (rule, taken, done, failed, cost) VALUES (?, ?, ?, ?, ?) ON CONFLICT (rule) DO UPDATE
     SET taken = taken + excluded.taken, done = done + excluded.done, failed = failed + excluded.failed,
       cost = cost + excluded.cost`,
    rule,
    taken,
    done,
    failed,
    cost,
  );
}

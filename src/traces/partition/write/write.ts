/** Upserting a batch of writes in one transaction. */
import { segment, uuidTime } from "../../time.ts";
import { OF_IDS } from "../store/ids.ts";
import { firstNumber, joinPayloads, payloadSql, writePayloads } from "../store/payloads.ts";
import { PACKED_COLUMNS, PAYLOAD_COLUMNS, RUN_COLUMNS, type WholeRow } from "../store/tables.ts";
import { blobsOfRow, blobsOfWrite, noteBlobs, unusedBlobs, byTrace, dissolveGroups, groupRuns } from "./delete.ts";
import { openBlocks } from "../blocks/blocks.ts";
import { newChange, numberRuns, noteMoves } from "../store/changes.ts";
import { refreshStats } from "../feedback.ts";
import type { PriceTable } from "../../../limits/prices/prices.ts";
import type { RunWrite } from "../../types.ts";
import { type Day, emptyRow, mergeRun, sumKnown, sumTotals } from "./merge.ts";
import { addToCounts, lastNumber, noteWritten } from "../store/meta.ts";
import { weighWrite } from "../../limits.ts";

// Completing the place of runs that came without a dotted_order, once their parents are known.

interface PlacedRow extends Record<string, SqlStorageValue> {
  id: string;
  trace_id: string;
  parent_run_id: string | null;
  parent_run_ids: string;
  dotted_order: string;
  start_time: number;
}

const COLUMNS = "id, trace_id, parent_run_id, parent_run_ids, dotted_order, start_time";

/**
 * Derives trace_id, dotted_order and ancestors of the given runs and of those below them, level by level.
 * Gives the traces whose runs moved, and those that runs left.
 */
export function placeDerivedRuns(sql: SqlStorage, ids: string[]): { moved: string[]; left: string[] } {
  const moved = new Set<string>();
  const left = new Set<string>();
  let keys = ids;
  while (keys.length > 0) {
    const list = JSON.stringify(keys);
    const derived = sql
      .exec<PlacedRow>(
        `SELECT ${COLUMNS} FROM runs WHERE placed = 0 AND parent_run_id IN (SELECT value FROM json_each(?))
         UNION SELECT ${COLUMNS} FROM runs WHERE placed = 0 AND n IN ${OF_IDS}`,
        list,
        list,
      )
      .toArray();
    const before = derived.map(({ trace_id }) => trace_id);
    keys = placeBelowParents(sql, derived);
    for (const trace of before) if (keys.length > 0) left.add(trace);
    for (const { trace_id } of derived) if (keys.length > 0) moved.add(trace_id);
  }
  return { moved: [...moved], left: [...left] };
}

/** One pass; gives the runs that changed, whose own children may now have to change. */
function placeBelowParents(sql: SqlStorage, derived: PlacedRow[]): string[] {
  if (derived.length === 0) return [];
  const parentIds = JSON.stringify([...new Set(derived.map((row) => row.parent_run_id))]);
  const parents = sql.exec<PlacedRow>(`SELECT ${COLUMNS} FROM runs WHERE n IN ${OF_IDS}`, parentIds);
  const byId = new Map(parents.toArray().map((row) => [row.id, row]));
  const changed: string[] = [];
  for (const row of derived) {
    const parent = byId.get(row.parent_run_id ?? "");
    const ancestors = parent ? [...(JSON.parse(parent.parent_run_ids) as string[]), parent.id] : [];
    // A run below itself can have no place; it keeps its provisional one.
    if (!parent || ancestors.includes(row.id) || ancestors.length > 200) continue;
    const dotted = `${parent.dotted_order}.${segment(row.start_time, row.id)}`;
    if (dotted === row.dotted_order && parent.trace_id === row.trace_id) continue;
    row.trace_id = parent.trace_id;
    sql.exec(
      `UPDATE runs SET trace_id = ?, dotted_order = ?, parent_run_ids = ? WHERE n IN ${OF_IDS}`,
      row.trace_id,
      dotted,
      JSON.stringify(ancestors),
      JSON.stringify([row.id]),
    );
    changed.push(row.id);
  }
  return changed;
}

const INSERT_RUN = `INSERT INTO runs (${RUN_COLUMNS.join(", ")}) VALUES (${RUN_COLUMNS.map(() => "?").join(", ")})`;

const ALL_COLUMNS = [...RUN_COLUMNS, ...PAYLOAD_COLUMNS];

/** The most bytes of the stored rows that one transaction loads. */
const STORED_BYTES = 16 * 1024 * 1024;
/** The most bytes of a run in two rows (limits.ts). `runs.bytes` also counts R2. */
const MAX_RUN_BYTES = 4_000_000;

/** Groups writes for `applyWrites`. A batch of small patches can refer to runs that together do not fit in memory. */
export function* groupWrites(sql: SqlStorage, writes: RunWrite[]): Generator<RunWrite[]> {
  const stored = sql.exec<{ id: string; bytes: number }>(
    `SELECT id, bytes FROM runs WHERE n IN ${OF_IDS}`,
    JSON.stringify(writes.map(({ id }) => id)),
  );
  const sizes = new Map(stored.toArray().map(({ id, bytes }) => [id, Math.min(bytes, MAX_RUN_BYTES)]));
  let group: RunWrite[] = [];
  let size = 0;
  for (const write of writes) {
    const own = sizes.get(write.id) ?? 0;
    if (group.length > 0 && size + own > STORED_BYTES) {
      yield group;
      [group, size] = [[], 0];
    }
    group.push(write);
    size += own;
  }
  if (group.length > 0) yield group;
}

/**
 * Merges the writes into the runs that are there. Objects below `prefix` in R2 that no run has then are noted to be deleted. To be called
 * inside a transaction.
 */
export function applyWrites(sql: SqlStorage, prefix: string, day: Day, writes: RunWrite[], prices: PriceTable): void {
  const ids = [...new Set(writes.map(({ id }) => id))];
  const stored = loadRows(sql, ids);
  const before = new Map([...stored].map(([id, row]) => [id, { ...row }]));
  const rows = new Map(stored);
  const blobs = [...[...stored.values()].flatMap(blobsOfRow), ...writes.flatMap(blobsOfWrite)];
  for (const write of writes) {
    const row = rows.get(write.id) ?? emptyRow(write.id, startWithin(day, write.id));
    rows.set(write.id, mergeRun(row, write, day));
  }
  noteBlobs(sql, prefix, unusedBlobs(blobs, [...rows.values()]));
  const isChanged = (row: WholeRow, known: WholeRow) => ALL_COLUMNS.some((column) => row[column] !== known[column]);
  const fresh = byTrace([...rows.values()].filter(({ id }) => !before.has(id)));
  const updated = [...stored.values()].filter((row) => isChanged(row, before.get(row.id) as WholeRow));
  const changed = [...updated, ...fresh];
  if (changed.length === 0) return;
  const change = newChange(sql);
  sumKnown(fresh, changed, prices);
  for (const row of changed) row.change = change;
  for (const row of updated) updateRun(sql, before.get(row.id) as WholeRow, row);
  insertRuns(sql, fresh, change);
  writePayloads(sql, changed, ({ id }) => before.has(id));
  noteMoves(
    sql,
    changed.flatMap(({ id, start_time }) => {
      const from = before.get(id)?.start_time ?? start_time;
      return from === start_time ? [] : [{ id, from, change }];
    }),
  );
  const changedIds = changed.map(({ id }) => id);
  // A run that moves to another trace no longer counts for the one that it leaves.
  const traces = changed.flatMap(({ id, trace_id }) => [trace_id, before.get(id)?.trace_id ?? trace_id]);
  const { moved, left } = placeDerivedRuns(sql, changedIds);
  const summed = sumTotals(sql, [...new Set([...traces, ...moved, ...left])], prices);
  numberRuns(sql, change, "trace", moved);
  const isWritten = new Set(changedIds);
  const others = summed.filter((id) => !isWritten.has(id));
  numberRuns(sql, change, "id", others);
  openBlocks(sql, [...changedIds, ...others]);
  refreshStats(
    sql,
    fresh.map(({ id }) => id),
  );
  noteWritten(sql, day.end / 1000);
  const added = {
    rows: fresh.length,
    bytes: changed.reduce((sum, row) => sum + row.bytes - (before.get(row.id)?.bytes ?? 0), 0),
    lastStart: changed.reduce((last, row) => Math.max(last, row.start_time), 0),
  };
  addToCounts(sql, added, change);
}

function insertRuns(sql: SqlStorage, rows: WholeRow[], change: number): void {
  const first = firstNumber(lastNumber(sql) + 1, rows.length);
  groupRuns(rows);
  for (const [index, row] of rows.entries()) {
    row.n = first + index;
    row.first_change = change;
    sql.exec(INSERT_RUN, ...RUN_COLUMNS.map((column) => row[column]));
  }
}

/** Writes the columns that have changed: SQLite writes a row of each index of a column that a statement sets. */
function updateRun(sql: SqlStorage, before: WholeRow, row: WholeRow): void {
  if (before.trace_id !== row.trace_id) dissolveGroups(sql, [row.n]);
  const columns = RUN_COLUMNS.filter((column) => row[column] !== before[column]);
  const assignments = columns.map((column) => `${column} = ?`).join(", ");
  sql.exec(`UPDATE runs SET ${assignments} WHERE n = ?`, ...columns.map((column) => row[column]), row.n);
}

/**
 * The start time of a run that has none: the time in its id if that is within the day, else the beginning of the day.
 */
function startWithin(day: Day, id: string): number {
  const time = uuidTime(id);
  return time !== undefined && time >= day.start && time < day.end ? time : day.start;
}

function loadRows(sql: SqlStorage, ids: string[]): Map<string, WholeRow> {
  const columns = [
    ...RUN_COLUMNS.map((name) => `r.${name}`),
    ...PACKED_COLUMNS.map((name) => `${payloadSql(name)} AS ${name}`),
    "p.large",
    "p.attachments",
  ].join(", ");
  const rows = sql.exec(`SELECT ${columns} FROM runs r ${joinPayloads()} WHERE r.n IN ${OF_IDS}`, JSON.stringify(ids));
  return new Map(rows.toArray().map((row) => [row["id"] as string, row as unknown as WholeRow]));
}

// Group commit: a transaction costs a dozen statements and rows besides its runs, so writes that can wait share one.

interface Waiting {
  writes: RunWrite[];
  done: () => void;
  failed: (error: unknown) => void;
}

/** Milliseconds that writes gather. */
const GATHER_MS = 100;
/** The most waiting runs, and the most weight of them (`weighWrite`). */
const MAX_WAITING = 100;
const MAX_WEIGHT = 4 * 1024 * 1024;

export class Gather {
  #waiting: Waiting[] = [];
  #runs = 0;
  #weight = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `apply` writes runs, or throws. It must be idempotent. */
  constructor(private readonly apply: (writes: RunWrite[]) => void) {}

  /** Resolves when the writes are applied, together with all later ones in the batch; rejects when they cannot be. */
  async add(writes: RunWrite[]): Promise<void> {
    const applied = new Promise<void>((done, failed) => this.#waiting.push({ writes, done, failed }));
    this.#runs += writes.length;
    for (const write of writes) this.#weight += weighWrite(write);
    if (this.#runs >= MAX_WAITING || this.#weight >= MAX_WEIGHT) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), GATHER_MS);
    return applied;
  }

  /** Applies what waits. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    this.#runs = this.#weight = 0;
    try {
      this.apply(waiting.flatMap(({ writes }) => writes));
      for (const { done } of waiting) done();
    } catch {
      // A batch that cannot be written must not block the others.
      for (const one of waiting) this.#alone(one);
    }
  }

  #alone({ writes, done, failed }: Waiting): void {
    try {
      this.apply(writes);
      done();
    } catch (error) {
      failed(error);
    }
  }
}

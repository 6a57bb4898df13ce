/**
 * Blocks: 512 runs with consecutive numbers. An idle block is sealed: its grams and its sums are written, so that
 * filters and statistics need not read its runs. A change to one of its runs opens it again. An open block is always read.
 */
import { OF_IDS } from "../store/ids.ts";
import type { Comparison } from "../../fields.ts";

const BITS = 9;
export const BLOCK_RUNS = 1 << BITS;
/** A block is not sealed while more of its runs have no end: the patches of these would open it again. */
const MAX_PENDING = BLOCK_RUNS / 20;

/** The block of a run, as an SQL expression over its number. */
export function blockSql(number: string): string {
  return `(${number} >> ${BITS})`;
}

/** What is stored of a block: its grams; its sums, with the hours that each is of. */
type Stored = "has_grams" | "has_sums";

/** The blocks that have one of these values stored, and those that do not. Only deletions make the last block one of the former. */
export function blocksWith(sql: SqlStorage, stored: Stored, values = [1]): { sealed: number[]; open: number[] } {
  const { last } = sql.exec<{ last: number | null }>("SELECT max(n) AS last FROM runs").one();
  const rows = sql.exec(`SELECT block FROM blocks WHERE ${stored} IN (${values.join()}) ORDER BY block`).raw();
  const sealed = [...rows].map(([block]) => block as number);
  const known = new Set(sealed);
  const open: number[] = [];
  for (let block = 0; block <= (last ?? 0) >> BITS; block++) if (!known.has(block)) open.push(block);
  return { sealed, open };
}

/** The blocks that can be sealed: full ones that are open. Of a day that is over, those with pending runs too. */
export function closable(sql: SqlStorage, isOver: boolean): number[] {
  const { last } = sql.exec<{ last: number | null }>("SELECT max(n) AS last FROM runs").one();
  const done = new Set([...sql.exec("SELECT block FROM blocks").raw()].map(([block]) => block as number));
  const full: number[] = [];
  // The last block takes the next runs.
  for (let block = 0; block < (last ?? 0) >> BITS; block++) if (!done.has(block)) full.push(block);
  if (isOver || full.length === 0) return full;
  const busy = sql.exec(
    `SELECT ${blockSql("r.n")} FROM ${runsOfBlocks()} WHERE r.status = 'pending' GROUP BY b.value HAVING count(*) > ${MAX_PENDING}`,
    JSON.stringify(full),
  );
  const waiting = new Set([...busy.raw()].map(([block]) => block as number));
  return full.filter((block) => !waiting.has(block));
}

/** Opens the blocks of these runs. To be called in the transaction that changes or deletes the runs, before a deletion. */
export function openBlocks(sql: SqlStorage, ids: string[]): void {
  if (ids.length === 0) return;
  sql.exec(
    `DELETE FROM blocks WHERE block IN (SELECT ${blockSql("n")} FROM runs WHERE n IN ${OF_IDS})`,
    JSON.stringify(ids),
  );
}

/** The runs of some blocks as a FROM clause. The blocks are its one bound value, a JSON list. */
export function runsOfBlocks(alias = "r"): string {
  const first = `b.value * ${BLOCK_RUNS}`;
  return `json_each(?) b CROSS JOIN runs ${alias} ON ${alias}.n BETWEEN ${first} AND ${first} + ${BLOCK_RUNS - 1}`;
}

// The least and the greatest values of a block's runs: a block whose values are all outside of a comparison is not read.

/** What is bounded, as the filter computes it (read/condition.ts). */
export const BOUNDED = {
  start_time: "r.start_time",
  end_time: "r.end_time",
  first_token_time: "r.first_token_time",
  latency: "max(0, (r.end_time - r.start_time) / 1000000.0)",
  total_tokens: "r.total_tokens",
  prompt_tokens: "r.prompt_tokens",
  completion_tokens: "r.completion_tokens",
  total_cost: "r.total_cost",
  prompt_cost: "r.prompt_cost",
  completion_cost: "r.completion_cost",
  execution_order: "r.execution_order",
  run_type: "r.run_type",
  status: "r.status",
} as const;
export type BoundedColumn = keyof typeof BOUNDED;
const NAMES = Object.keys(BOUNDED) as BoundedColumn[];

/** More tags than these of one run are not looked at. */
const MAX_TAGS = 20;

type Value = string | number;

interface Bounds {
  /** By column: the least, the greatest, and how many runs have no value. Both are null when none has one. */
  columns: { [column in BoundedColumn]: [least: Value | null, greatest: Value | null, absent: number] };
  /** The tags that all runs of the block have. */
  tags: string[];
}

/** A comparison of a column, or the absence of a tag. */
export type BoundedRun =
  | { column: BoundedColumn; comparison: Exclude<Comparison, "like">; value: Value | null }
  | { withoutTag: string };

export function isBounded(column: string): column is BoundedColumn {
  return Object.hasOwn(BOUNDED, column);
}

/** Writes the bounds of a block. To be called in the transaction that seals it. */
export function writeBounds(sql: SqlStorage, block: number): void {
  const blocks = JSON.stringify([block]);
  const stats = Object.values(BOUNDED).map((value) => `min(${value}), max(${value}), count(*) - count(${value})`);
  const [row = []] = sql.exec(`SELECT ${stats.join(", ")} FROM ${runsOfBlocks()}`, blocks).raw();
  const columns = Object.fromEntries(NAMES.map((name, i) => [name, row.slice(3 * i, 3 * i + 3)]));
  // The first run's tags that no other run lacks.
  const tags = sql.exec<{ tag: string }>(
    `SELECT t.value AS tag FROM (SELECT r.tags FROM ${runsOfBlocks()} LIMIT 1) f, json_each(f.tags) t
     WHERE NOT EXISTS (
       SELECT 1 FROM ${runsOfBlocks("o")} WHERE NOT EXISTS (SELECT 1 FROM json_each(o.tags) u WHERE u.value = t.value)
     ) LIMIT ${MAX_TAGS}`,
    blocks,
    blocks,
  );
  const bounds = { columns, tags: tags.toArray().map(({ tag }) => tag) };
  sql.exec("INSERT OR REPLACE INTO bounds (block, bounds) VALUES (?, ?)", block, JSON.stringify(bounds));
}

/** The blocks that can have a run that passes. */
export function withinBounds(sql: SqlStorage, wanted: BoundedRun, blocks: number[]): number[] {
  return readBounds(sql, blocks).flatMap(({ block, bounds }) => (!bounds || canPass(bounds, wanted) ? [block] : []));
}

/** Undefined are the bounds of an open block. */
export function readBounds(sql: SqlStorage, blocks: number[]): { block: number; bounds: Bounds | undefined }[] {
  const rows = sql.exec<{ block: number; bounds: string | null }>(
    `SELECT b.value AS block, s.bounds FROM json_each(?) b
     LEFT JOIN blocks k ON k.block = b.value LEFT JOIN bounds s ON s.block = k.block`,
    JSON.stringify(blocks),
  );
  // The numbers are compared here, for SQLite reads a double from JSON less exactly.
  return rows
    .toArray()
    .map(({ block, bounds }) => ({ block, bounds: bounds === null ? undefined : (JSON.parse(bounds) as Bounds) }));
}

function canPass({ columns, tags }: Bounds, wanted: BoundedRun): boolean {
  if ("withoutTag" in wanted) return !tags.includes(wanted.withoutTag);
  const { column, comparison, value } = wanted;
  const [least, greatest, absent] = columns[column];
  if (value === null) return comparison === "eq" ? absent > 0 : least !== null;
  if (least === null || greatest === null) return comparison === "neq";
  switch (comparison) {
    case "gt":
      return greatest > value;
    case "gte":
      return greatest >= value;
    case "lt":
      return least < value;
    case "lte":
      return least <= value;
    case "eq":
      return least <= value && value <= greatest;
    case "neq":
      return absent > 0 || least !== value || greatest !== value;
  }
}

/** Sums of selected runs: from the rollups of sealed blocks, and from the runs of the others. */
import { HOUR_MICROS, dayBounds } from "../../time.ts";
import type { RunSums, PartitionIdentity } from "../../types.ts";
import {
  addSketch,
  addSums,
  findGroup,
  type GroupKey,
  type Groups,
  type Sketch,
  addRun,
  type Group,
  GROUPED,
  type GroupSums,
  MAX_KEY_LENGTH,
} from "./groups.ts";
import { type CountedUsage, countedUsage, USAGE_COLUMNS } from "./counted.ts";
import { type TraceFilter, parseFilter } from "../../filter/filter.ts";
import type { RunSelection } from "../../rpc.ts";
import { clip } from "../../text.ts";
import { blockSql, blocksWith, runsOfBlocks } from "../blocks/blocks.ts";
import { selectionCondition } from "../read/selection.ts";

// The sums of sealed blocks, in the table `rollups`.

/** A block of more groups has no sums: its runs are read instead. */
const MAX_STORED_GROUPS = 128;

/**
 * The hours that one sum of a block may be of. The fewest with which the block has no more than `MAX_GROUPS` are chosen: runs
 * that arrive in another order than they started have many hours in each block.
 */
export const WIDTHS = [1, 6, 24];

const KEYS = ["hour", "name", "run_type", "status", "is_root", "model"] as const;
const SUMS = [
  "run_count",
  "streaming_count",
  "total_tokens",
  "prompt_tokens",
  "completion_tokens",
  "total_cost",
  "prompt_cost",
  "completion_cost",
] as const;
const COLUMNS = [...KEYS, ...SUMS, "last_run_start_time", "latencies", "first_tokens", "own"] as const;

/** Replaces the sums of a block, which are given by the hour. Gives the hours that each sum is of, 0 when there are too many. */
export function writeSums(sql: SqlStorage, block: number, byHour: Groups): number {
  sql.exec("DELETE FROM rollups WHERE block = ?", block);
  for (const width of WIDTHS) {
    const groups = width === 1 ? byHour : widen(byHour, width * HOUR_MICROS);
    if (groups.size > MAX_STORED_GROUPS) continue;
    insertSums(sql, block, groups);
    return width;
  }
  return 0;
}

/** The sums of longer stretches of the day. */
function widen(byHour: Groups, width: number): Groups {
  const groups: Groups = new Map();
  for (const { hour, name, run_type, status, is_root, model, ...sums } of byHour.values()) {
    const key = { hour: hour - (hour % width), name, run_type, status, is_root, model };
    addSums(findGroup(groups, JSON.stringify(key), key), sums);
  }
  return groups;
}

function insertSums(sql: SqlStorage, block: number, groups: Groups): void {
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
}

/** Blocks whose sketches are joined in one text, which stays far below the 2 MB of a value. */
const JOINED = 64;

/** By what stored sums stay apart. The others are added up by SQLite: reading each takes longer than adding it. */
export interface SumsBy {
  hour?: boolean;
  column?: SumsColumn;
}

const SUMS_COLUMNS = ["name", "run_type", "status", "model"] as const;
export type SumsColumn = (typeof SUMS_COLUMNS)[number];

export const isSumsColumn = (name: string): name is SumsColumn => SUMS_COLUMNS.some((column) => column === name);

interface Stored {
  /** Hours. */
  width: number;
  by: SumsBy;
  counted: CountedUsage;
  formatKey: (key: GroupKey) => string;
}

/** Adds the sums of this width that pass the condition, which is on `r`. */
export function addStored(
  sql: SqlStorage,
  groups: Groups,
  { width, by, counted, formatKey }: Stored,
  condition: { sql: string; values: (string | number)[] },
): void {
  const apart = [by.hour ? "r.hour" : [], by.column ? `r.${by.column}` : [], `r.block / ${JOINED}`].flat();
  const rows = sql.exec<Record<string, SqlStorageValue>>(
    `SELECT ${KEYS.map((column) => `min(r.${column}) AS ${column}`).join(", ")},
       ${SUMS.map((column) => `sum(${sumOf(column, counted)}) AS ${column}`).join(", ")},
       sum(CASE r.status WHEN 'error' THEN r.run_count ELSE 0 END) AS error_count,
       max(r.last_run_start_time) AS last_run_start_time,
       group_concat(r.latencies) AS latencies, group_concat(r.first_tokens) AS first_tokens
     FROM blocks b CROSS JOIN (
       SELECT *, CASE status WHEN 'error' THEN '' END AS error FROM rollups
     ) r ON r.block = b.block WHERE b.has_sums = ${width} AND ${condition.sql} GROUP BY ${apart.join(", ")}`,
    ...condition.values,
  );
  for (const row of rows) {
    const { hour, name, run_type, status, is_root, model, latencies, first_tokens, ...sums } = row as unknown as Joined;
    const key = { hour, name, run_type, status, is_root, model };
    const group = findGroup(groups, formatKey(key), key);
    addSums(group, { ...sums, latencies: {}, first_tokens: {}, own: [] });
    for (const sketch of parseSketches(latencies)) addSketch(group.latencies, sketch);
    for (const sketch of parseSketches(first_tokens)) addSketch(group.first_tokens, sketch);
  }
}

const sumOf = (column: string, counted: CountedUsage) => {
  const place = counted === "own" ? USAGE_COLUMNS.findIndex((one) => one === column) : -1;
  return place === -1 ? `r.${column}` : `coalesce(r.own ->> ${place}, 0)`;
};

type Joined = GroupKey & RunSums & { latencies: string; first_tokens: string };

/** Of objects of JSON with commas between. */
const parseSketches = (joined: string) => JSON.parse(`[${joined}]`) as Sketch[];

/** The sums of one group. `hour` is its first microsecond. */
type SumsOf = GroupSums & { hour: number | null; key: string | null };

const MAX_GROUPS = 1_000;
/** The columns by which sums are stored, and what is the same for the whole partition. */
const SUMMED = new Set(["name", "run_type", "status", "is_root", "session_id"]);

export function hasSums(sql: SqlStorage): boolean {
  return blocksWith(sql, "has_sums", WIDTHS).sealed.length > 0;
}

/** Whether the sums answer the selection. Its window is no matter. */
export function isSummed({ startTime: _start, endTime: _end, ...selection }: RunSelection): boolean {
  const { filter, runType: _type, isRoot: _root, hasError: _error, ...others } = selection;
  if (Object.values(others).some((value) => value !== undefined)) return false;
  if (countedUsage(selection) === "outermost") return false;
  return !filter || isFilterSummed(parseFilter(filter));
}

function isFilterSummed(filter: TraceFilter): boolean {
  if (filter.op === "and" || filter.op === "or") return filter.args.every(isFilterSummed);
  if (filter.op === "not") return isFilterSummed(filter.arg);
  if (filter.op === "in") return SUMMED.has(filter.field);
  return filter.op === "compare" && (SUMMED.has(filter.field) || (filter.field === "error" && filter.value === null));
}

/** The sums of the selected runs in groups, those of most runs first. */
export function sumRuns(sql: SqlStorage, identity: PartitionIdentity, selection: RunSelection, by: SumsBy): SumsOf[] {
  const groups: Groups = new Map();
  const counted = countedUsage(selection);
  const groupKey = (key: GroupKey) =>
    JSON.stringify([by.hour ? key.hour : null, by.column ? groupValue(key, by.column) : null]);
  const addRuns = (
    window: [number, number],
    source: string,
    opened: string[],
    more = "",
    rest: readonly string[] = [],
  ) => {
    if (window[0] >= window[1]) return;
    const condition = selectionCondition(sql, identity, { ...selection, startTime: window[0], endTime: window[1] });
    const values = [...opened, ...condition.values, ...rest];
    const rows = sql.exec(`SELECT ${GROUPED} FROM ${source} WHERE ${condition.sql} ${more}`, ...values);
    for (const row of rows.raw()) addRun(groups, row, groupKey, (spends) => counted === "totals" || spends);
  };
  const day = dayBounds(identity.day);
  const window: [number, number] = [
    Math.max(day.start, selection.startTime ?? day.start),
    Math.min(day.end, selection.endTime ?? day.end),
  ];
  if (isSummed(selection)) {
    const widths = by.hour ? [1] : WIDTHS;
    addRuns(window, runsOfBlocks(), [JSON.stringify(blocksWith(sql, "has_sums", widths).open)]);
    for (const width of widths) {
      const blocks = blocksWith(sql, "has_sums", [width]).sealed;
      if (blocks.length === 0) continue;
      const whole = addWhole(sql, identity, selection, { window, width, groups, by, counted, formatKey: groupKey });
      const among = [`AND ${blockSql("r.n")} IN (SELECT value FROM json_each(?))`, [JSON.stringify(blocks)]] as const;
      // What the window has of other hours is read.
      for (const edge of whole ? [[window[0], whole[0]] as const, [whole[1], window[1]] as const] : [window])
        addRuns([...edge], "runs r", [], ...among);
    }
  } else addRuns(window, "runs r", []);
  return [...groups.values()]
    .map((group) => pickSums(group, by))
    .sort((a, b) => b.run_count - a.run_count)
    .slice(0, MAX_GROUPS);
}

interface Adding extends Stored {
  window: [number, number];
  groups: Groups;
}

/** Adds the stored sums of this width that are within the window, and gives the bounds of what they cover. */
function addWhole(
  sql: SqlStorage,
  identity: PartitionIdentity,
  { startTime: _start, endTime: _end, ...timeless }: RunSelection,
  { window: [from, to], width, groups, by, counted, formatKey }: Adding,
): [number, number] | undefined {
  const step = width * HOUR_MICROS;
  const [first, last] = [Math.ceil(from / step) * step, Math.floor(to / step) * step];
  if (first >= last) return undefined;
  const condition = selectionCondition(sql, identity, timeless);
  const hours = { sql: `r.hour >= ? AND r.hour < ? AND ${condition.sql}`, values: [first, last, ...condition.values] };
  addStored(sql, groups, { width, by, counted, formatKey }, hours);
  return [first, last];
}

function pickSums(group: Group, by: SumsBy): SumsOf {
  const { hour, name: _name, run_type: _type, status: _status, is_root: _root, model: _model, ...sums } = group;
  return { ...sums, hour: by.hour ? hour : null, key: by.column ? groupValue(group, by.column) : null };
}

function groupValue(key: GroupKey, column: SumsColumn): string | null {
  const value = key[column];
  return value === null ? null : clip(value, MAX_KEY_LENGTH);
}

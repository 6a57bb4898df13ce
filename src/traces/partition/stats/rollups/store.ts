/** The sums of sealed blocks, in the table `rollups`. */
import { HOUR_MICROS } from "../../../time.ts";
import type { RunSums } from "../../../types.ts";
import { addSketch, addSums, findGroup, type GroupKey, type Groups, type Sketch } from "../groups.ts";

/** A block of more groups has no sums: its runs are read instead. */
const MOST_GROUPS = 128;

/**
 * The hours that one sum of a block may be of. The fewest with which the block has no more than `MOST_GROUPS` are chosen: runs
 * that arrive in another order than they started have many hours in each block. Earlier versions read sums of one hour only.
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
const COLUMNS = [...KEYS, ...SUMS, "last_run_start_time", "latencies", "first_tokens"] as const;

/** Replaces the sums of a block, which are given by the hour. Gives the hours that each sum is of, 0 when there are too many. */
export function writeSums(sql: SqlStorage, block: number, byHour: Groups): number {
  sql.exec("DELETE FROM rollups WHERE block = ?", block);
  for (const width of WIDTHS) {
    const groups = width === 1 ? byHour : widen(byHour, width * HOUR_MICROS);
    if (groups.size > MOST_GROUPS) continue;
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

/** Adds the sums of this width, in hours, that pass the condition, which is on `r`. */
export function addStored(
  sql: SqlStorage,
  groups: Groups,
  { width, by, formatKey }: { width: number; by: SumsBy; formatKey: (key: GroupKey) => string },
  condition: { sql: string; values: (string | number)[] },
): void {
  const apart = [by.hour ? "r.hour" : [], by.column ? `r.${by.column}` : [], `r.block / ${JOINED}`].flat();
  const rows = sql.exec<Record<string, SqlStorageValue>>(
    `SELECT ${KEYS.map((column) => `min(r.${column}) AS ${column}`).join(", ")},
       ${SUMS.map((column) => `sum(r.${column}) AS ${column}`).join(", ")},
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
    addSums(group, { ...sums, latencies: {}, first_tokens: {} });
    for (const sketch of parseSketches(latencies)) addSketch(group.latencies, sketch);
    for (const sketch of parseSketches(first_tokens)) addSketch(group.first_tokens, sketch);
  }
}

type Joined = GroupKey & RunSums & { latencies: string; first_tokens: string };

/** Of objects of JSON with commas between. */
const parseSketches = (joined: string) => JSON.parse(`[${joined}]`) as Sketch[];

/** Sums of selected runs: from the rollups of sealed blocks, and from the runs of the others. */
import { type Filter, parseFilter } from "../../filter/filter.ts";
import type { RunSelection } from "../../rpc.ts";
import type { PartitionIdentity } from "../../types.ts";
import { dayBounds, HOUR_MICROS } from "../../time.ts";
import { clip } from "../../clip.ts";
import { blockSql, blocksWith, runsOfBlocks } from "../blocks/blocks.ts";
import { selectionCondition } from "../read/selection.ts";
import { addRun, type Group, type GroupKey, GROUPED, type Groups, type GroupSums, MOST_OF_KEY } from "./groups.ts";
import { addStored, type SumsBy, type SumsColumn, WIDTHS } from "./rollups/store.ts";

/** The sums of one group. `hour` is its first microsecond. */
type SumsOf = GroupSums & { hour: number | null; key: string | null };

const MOST_GROUPS = 1_000;
/** The columns by which sums are stored, and what is the same for the whole partition. */
const SUMMED = new Set(["name", "run_type", "status", "is_root", "session_id"]);

export function hasSums(sql: SqlStorage): boolean {
  return blocksWith(sql, "has_sums", WIDTHS).sealed.length > 0;
}

/** Whether the sums answer the selection. Its window is no matter. */
export function isSummed({ startTime: _start, endTime: _end, ...selection }: RunSelection): boolean {
  const { filter, runType: _type, isRoot: _root, hasError: _error, ...others } = selection;
  if (Object.values(others).some((value) => value !== undefined)) return false;
  return !filter || isFilterSummed(parseFilter(filter));
}

function isFilterSummed(filter: Filter): boolean {
  if (filter.op === "and" || filter.op === "or") return filter.args.every(isFilterSummed);
  if (filter.op === "not") return isFilterSummed(filter.arg);
  if (filter.op === "in") return SUMMED.has(filter.field);
  return filter.op === "compare" && (SUMMED.has(filter.field) || (filter.field === "error" && filter.value === null));
}

/** The sums of the selected runs in groups, those of most runs first. */
export function sumRuns(sql: SqlStorage, identity: PartitionIdentity, selection: RunSelection, by: SumsBy): SumsOf[] {
  const groups: Groups = new Map();
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
    for (const row of rows.raw()) addRun(groups, row, groupKey);
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
      const whole = addWhole(sql, identity, selection, { window, width, groups, by, formatKey: groupKey });
      const among = [`AND ${blockSql("r.n")} IN (SELECT value FROM json_each(?))`, [JSON.stringify(blocks)]] as const;
      // What the window has of other hours is read.
      for (const edge of whole ? [[window[0], whole[0]] as const, [whole[1], window[1]] as const] : [window])
        addRuns([...edge], "runs r", [], ...among);
    }
  } else addRuns(window, "runs r", []);
  return [...groups.values()]
    .map((group) => pickSums(group, by))
    .sort((a, b) => b.run_count - a.run_count)
    .slice(0, MOST_GROUPS);
}

interface Adding {
  window: [number, number];
  /** Hours. */
  width: number;
  groups: Groups;
  by: SumsBy;
  formatKey: (key: GroupKey) => string;
}

/** Adds the stored sums of this width that are within the window, and gives the bounds of what they cover. */
function addWhole(
  sql: SqlStorage,
  identity: PartitionIdentity,
  { startTime: _start, endTime: _end, ...timeless }: RunSelection,
  { window: [from, to], width, groups, by, formatKey }: Adding,
): [number, number] | undefined {
  const step = width * HOUR_MICROS;
  const [first, last] = [Math.ceil(from / step) * step, Math.floor(to / step) * step];
  if (first >= last) return undefined;
  const condition = selectionCondition(sql, identity, timeless);
  const hours = { sql: `r.hour >= ? AND r.hour < ? AND ${condition.sql}`, values: [first, last, ...condition.values] };
  addStored(sql, groups, { width, by, formatKey }, hours);
  return [first, last];
}

function pickSums(group: Group, by: SumsBy): SumsOf {
  const { hour, name: _name, run_type: _type, status: _status, is_root: _root, model: _model, ...sums } = group;
  return { ...sums, hour: by.hour ? hour : null, key: by.column ? groupValue(group, by.column) : null };
}

function groupValue(key: GroupKey, column: SumsColumn): string | null {
  const value = key[column];
  return value === null ? null : clip(value, MOST_OF_KEY);
}

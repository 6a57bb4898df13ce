/** Sealing a block: writing its grams, its bounds and its sums. */
import { joinPayloads, payloadSql } from "../store/payloads.ts";
import { dayBounds } from "../../time.ts";
import { addRun, GROUPED, GROUPED_COLUMNS, type Groups } from "../stats/groups.ts";
import { writeSums } from "../stats/rollups.ts";
import { runsOfBlocks, closable, writeBounds } from "../blocks/blocks.ts";
import { MARKED, markValue, PAYLOAD_TEXTS, RUN_TEXTS, GramSet, SLICE_ROWS, SLICES } from "../blocks/grams.ts";

/** A block with more text has no grams, characters: nearly every gram would be among them, and hashing takes too long. */
const MAX_TEXT = 16 * 1024 * 1024;

const TEXTS = [...RUN_TEXTS.map((column) => `r.${column}`), ...PAYLOAD_TEXTS.map((column) => payloadSql(column))];
const COLUMNS = [GROUPED, ...MARKED.map((column) => `r.${column}`), ...TEXTS].join(", ");

const HOUR_MS = 3_600_000;

const closeTime = (day: string) => dayBounds(day).end / 1000 + HOUR_MS;

/** Whether few runs of the day come any more. */
export const isDayOver = (day: string): boolean => Date.now() >= closeTime(day);

/** When full blocks with many pending runs are to be sealed, milliseconds. Infinity when there are none. */
export const nextClose = (sql: SqlStorage, day: string): number =>
  !isDayOver(day) && closable(sql, true).length > 0 ? closeTime(day) : Infinity;

/** The most blocks that one alarm seals. A block takes about 20 ms. */
const CLOSED_AT_ONCE = 100;

const grams = new GramSet();

/**
 * Seals blocks one by one, and lets others have their turn between two. `isHeld` is false when the partition was destroyed
 * in the meantime. True when none is left.
 */
export async function closeSome(
  storage: DurableObjectStorage,
  isOver: boolean,
  isHeld: () => boolean,
): Promise<boolean> {
  const blocks = closable(storage.sql, isOver);
  for (const block of blocks.slice(0, CLOSED_AT_ONCE)) {
    if (!isHeld()) return true;
    storage.transactionSync(() => closeBlock(storage.sql, block));
    // What one transaction wrote must have left before the next one, or memory fills with it.
    await storage.sync();
  }
  return blocks.length <= CLOSED_AT_ONCE;
}

/** Seals a block. To be called inside a transaction. */
export function closeBlock(sql: SqlStorage, block: number): void {
  const groups: Groups = new Map();
  let [room, runs] = [MAX_TEXT, 0];
  grams.clear();
  const rows = sql.exec(`SELECT ${COLUMNS} FROM ${runsOfBlocks()} ${joinPayloads()}`, JSON.stringify([block]));
  for (const row of rows.raw()) {
    runs++;
    addRun(groups, row, (key) => JSON.stringify(key));
    MARKED.forEach((column, i) => {
      const value = row[GROUPED_COLUMNS.length + i] as string | null;
      if (value !== null) grams.add(markValue(column, value));
    });
    for (const text of row.slice(GROUPED_COLUMNS.length + MARKED.length) as (string | null)[]) {
      room -= text?.length ?? 0;
      if (text !== null && room > 0) grams.add(text);
    }
  }
  const hours = writeSums(sql, block, groups);
  const hasGrams = runs > 0 && room > 0;
  if (hasGrams) writeGrams(sql, block);
  else deleteGrams(sql, block);
  writeBounds(sql, block);
  sql.exec(
    "INSERT OR REPLACE INTO blocks (block, has_grams, has_sums) VALUES (?, ?, ?)",
    block,
    Number(hasGrams),
    hours,
  );
}

/** Deletes what is stored of blocks that are open: most of their runs were deleted. To be called inside a transaction. */
export function clearOpenBlocks(sql: SqlStorage): void {
  const isOpen = "NOT IN (SELECT block FROM blocks)";
  sql.exec(`DELETE FROM rollups WHERE block ${isOpen}`);
  sql.exec(`DELETE FROM bounds WHERE block ${isOpen}`);
  sql.exec(`DELETE FROM grams WHERE n % ${SLICE_ROWS} ${isOpen}`);
}

/** All runs of the block were deleted, or it has too much text now. */
function deleteGrams(sql: SqlStorage, block: number): void {
  for (let slice = 0; slice < SLICES; slice++) sql.exec("DELETE FROM grams WHERE n = ?", slice * SLICE_ROWS + block);
}

function writeGrams(sql: SqlStorage, block: number): void {
  for (let slice = 0; slice < SLICES; slice++) {
    sql.exec(
      "INSERT OR REPLACE INTO grams (n, bits) VALUES (?, ?)",
      slice * SLICE_ROWS + block,
      grams.slice(slice).buffer,
    );
  }
}

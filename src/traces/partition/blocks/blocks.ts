/**
 * Blocks: 512 runs with consecutive numbers. An idle block is sealed: its grams and its sums are written, so that
 * filters and statistics need not read its runs. A change to one of its runs opens it again. An open block is always read.
 */
import { OF_IDS } from "../store/ids.ts";

const BITS = 9;
export const BLOCK_RUNS = 1 << BITS;
/** A block is not sealed while more of its runs have no end: the patches of these would open it again. */
const MOST_PENDING = BLOCK_RUNS / 20;

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
export function sealable(sql: SqlStorage, isOver: boolean): number[] {
  const { last } = sql.exec<{ last: number | null }>("SELECT max(n) AS last FROM runs").one();
  const done = new Set([...sql.exec("SELECT block FROM blocks").raw()].map(([block]) => block as number));
  const full: number[] = [];
  // The last block takes the next runs.
  for (let block = 0; block < (last ?? 0) >> BITS; block++) if (!done.has(block)) full.push(block);
  if (isOver || full.length === 0) return full;
  const busy = sql.exec(
    `SELECT ${blockSql("r.n")} FROM ${runsOfBlocks()} WHERE r.status = 'pending' GROUP BY b.value HAVING count(*) > ${MOST_PENDING}`,
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

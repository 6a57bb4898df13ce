/**
 * Where a partition stores the payloads of its runs. Four runs with consecutive numbers share a row of `packs`. A run with larger
 * payloads, or with payloads or attachments in R2, has a row of its own in `payloads`.
 *
 * SQLite reads pages of 4,096 bytes and stores a smaller row in one page. With a row of 2.3 KB for each run, nearly half of each page
 * is empty. A larger row continues in pages of its own, and these are full.
 */

/** The payload columns that a pack has for each of its runs. */
export const PACKED_COLUMNS = [
  "inputs",
  "outputs",
  "extra",
  "events",
  "serialized",
  "input_pairs",
  "output_pairs",
] as const;
export type PackedColumn = (typeof PACKED_COLUMNS)[number];

const BITS = 2;
export const SLOTS = [0, 1, 2, 3] as const;

export function slotColumn(column: PackedColumn, slot: number): string {
  return `${column}_${slot}`;
}

/** The pack of a run, as an SQL expression over the run's number. */
export function packSql(number: string | number): string {
  return `(${number} >> ${BITS})`;
}

/** The slot of a run in its pack, likewise. */
export function slotSql(number: string | number): string {
  return `(${number} & ${SLOTS.length - 1})`;
}

/** The first number for new runs, from the next one that is free: they share as few packs as that many runs can, each a row written. */
export function firstNumber(next: number, runs: number): number {
  const slot = next % SLOTS.length;
  const fits = Math.ceil((slot + runs) / SLOTS.length) === Math.ceil(runs / SLOTS.length);
  return slot === 0 || fits ? next : next - slot + SLOTS.length;
}

/** The first number of a pack, likewise. */
export function firstInPackSql(pack: string): string {
  return `(${pack} << ${BITS})`;
}

/** Joins the payloads of the runs under an alias. `payloads` is `p` then. */
export function joinPayloads(run = "r"): string {
  return `LEFT JOIN payloads p ON p.n = ${run}.n LEFT JOIN packs pk ON pk.n = ${packSql(`${run}.n`)}`;
}

/** A payload of a run as an SQL expression on the tables of `joinPayloads`. */
export function payloadSql(column: PackedColumn, run = "r"): string {
  const slots = SLOTS.map((slot) => `WHEN ${slot} THEN pk.${slotColumn(column, slot)}`);
  return `coalesce(p.${column}, CASE ${slotSql(`${run}.n`)} ${slots.join(" ")} END)`;
}

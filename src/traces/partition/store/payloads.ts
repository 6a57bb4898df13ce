/** Writing and deleting the payloads of runs, in packs or in rows of their own. */
import { PAYLOAD_COLUMNS, type PayloadRow, PACKED_COLUMNS, type PackedColumn } from "./tables.ts";

// Where a partition stores the payloads of its runs. Four runs with consecutive numbers share a row of `packs`. A run with larger
// payloads, or with payloads or attachments in R2, has a row of its own in `payloads`.
// SQLite reads pages of 4,096 bytes and stores a smaller row in one page. With a row of 2.3 KB for each run, nearly half of each page
// is empty. A larger row continues in pages of its own, and these are full.

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

/** A run with more payload text has a row of its own, characters. A row holds at most 2 MB. */
const MAX_PACKED = 8_192;

type Numbered = PayloadRow & { n: number };

/** Writes the payloads of runs. `isStored`: the run was stored before, so its payloads can be in the other table. */
export function writePayloads<T extends Numbered>(sql: SqlStorage, rows: T[], isStored: (row: T) => boolean): void {
  const [own, packed] = [rows.filter(hasOwnRow), rows.filter((row) => !hasOwnRow(row))];
  for (const row of own) sql.exec(INSERT, row.n, ...PAYLOAD_COLUMNS.map((column) => row[column]));
  for (const [pack, members] of Map.groupBy(packed, ({ n }) => Math.floor(n / SLOTS.length))) {
    const values = members.flatMap((row) => PACKED_COLUMNS.map((column) => row[column]));
    sql.exec(upsertStatement(members.map(({ n }) => n % SLOTS.length)), pack, ...values);
  }
  const storedNumbers = (some: T[]) => some.filter(isStored).map(({ n }) => n);
  deleteOwnRows(sql, storedNumbers(packed));
  clearSlots(sql, storedNumbers(own));
}

/** Deletes the payloads of runs. To be called after the runs are deleted. */
export function deletePayloads(sql: SqlStorage, numbers: number[]): void {
  if (numbers.length === 0) return;
  deleteOwnRows(sql, numbers);
  const first = firstInPackSql("packs.n");
  sql.exec(
    `DELETE FROM packs WHERE n IN (SELECT ${packSql("value")} FROM json_each(?))
       AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.n BETWEEN ${first} AND ${first} + ${SLOTS.length - 1})`,
    JSON.stringify(numbers),
  );
  clearSlots(sql, numbers);
}

function deleteOwnRows(sql: SqlStorage, numbers: number[]): void {
  if (numbers.length === 0) return;
  sql.exec("DELETE FROM payloads WHERE n IN (SELECT value FROM json_each(?))", JSON.stringify(numbers));
}

/** Removes the payloads of runs from packs that have other runs. */
function clearSlots(sql: SqlStorage, numbers: number[]): void {
  if (numbers.length === 0) return;
  for (const slot of SLOTS) {
    const columns = PACKED_COLUMNS.map((column) => slotColumn(column, slot));
    // The second test leaves empty slots alone, because a row that is updated is billed.
    sql.exec(
      `UPDATE packs SET ${columns.map((column) => `${column} = NULL`).join(", ")}
       WHERE n IN (SELECT ${packSql("value")} FROM json_each(?) WHERE ${slotSql("value")} = ${slot})
         AND coalesce(${columns.join(", ")}) IS NOT NULL`,
      JSON.stringify(numbers),
    );
  }
}

const INSERT = `INSERT OR REPLACE INTO payloads (n, ${PAYLOAD_COLUMNS.join(", ")})
  VALUES (?, ${PAYLOAD_COLUMNS.map(() => "?").join(", ")})`;

const upserts = new Map<string, string>();

/** The statement that writes some slots of a pack and keeps the others. It has 64 variants at most, and each is made once. */
function upsertStatement(slots: number[]): string {
  const key = slots.join();
  const known = upserts.get(key);
  if (known !== undefined) return known;
  const columns = slots.flatMap((slot) => PACKED_COLUMNS.map((column) => slotColumn(column, slot)));
  const text = `INSERT INTO packs (n, ${columns.join(", ")}) VALUES (?, ${columns.map(() => "?").join(", ")})
    ON CONFLICT (n) DO UPDATE SET ${columns.map((column) => `${column} = excluded.${column}`).join(", ")}`;
  upserts.set(key, text);
  return text;
}

/** Rows with objects in R2 are in `payloads`, where the deletion of objects finds them among few others (write/delete.ts). */
function hasOwnRow(row: PayloadRow): boolean {
  if (row.large !== null || row.attachments !== null) return true;
  return PACKED_COLUMNS.reduce((size, column) => size + (row[column]?.length ?? 0), 0) > MAX_PACKED;
}

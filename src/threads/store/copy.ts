/** The rows of a thread that a copy includes: read in pages, written one by one. */
import { isReference, splitText, type LongTextValue } from "./long-text.ts";
import { isSealed } from "../../access/encryption/ring.ts";
import { COPIED_TABLES, type CopiedTable, type SqlRow, type Tables } from "./tables.ts";

/** The primary key of each table: its rows are read in this order. */
const KEYS: Record<CopiedTable, string[]> = {
  packs: ["last_id", "n"],
  heads: ["ns"],
  writes: ["ns", "checkpoint_id", "n"],
  blobs: ["hash", "part"],
  segments: ["first_seq", "n"],
};

/** The columns of each table that hold text, as the tables bind them to their rows. */
const TEXTS: Record<CopiedTable, string[]> = {
  packs: [],
  heads: [],
  writes: ["body"],
  blobs: ["body"],
  segments: ["events", "metas", "chunks"],
};
/** Bytes of a part of a long text that is sealed on its way: the source's may be longer, and is cut into two. */
const HALF = 1_000_000;

/**
 * Writes a row of another thread. What that thread stored before the workspace had a key is sealed. Long texts that a deleted thread
 * has left are the same under the same hash.
 */
export function insertCopied(tables: Tables, { table, row }: CopiedRow): void {
  const { vault } = tables;
  const isHeld = (text: LongTextValue) => isReference(text) || isSealed(text);
  const isPlain = (text: LongTextValue) => vault.ring.isOn && typeof text === "string" && !isHeld(text);
  if (table === "blobs" && isPlain(row.body ?? null)) {
    const hash = String(row.hash);
    let part = Number(row.part) * 2;
    for (const body of splitText(String(row.body), HALF)) {
      tables.insertHeld(table, { hash, part, body: vault.seal(body, "blobs", hash, part) });
      part += 1;
    }
    return;
  }
  const sealed = { ...row };
  const key = table === "writes" ? [row.ns, row.checkpoint_id] : [row.first_seq, row.n];
  for (const name of TEXTS[table]) {
    const column = table === "writes" ? table : `${table}.${name}`;
    const text = row[name] ?? null;
    if (isPlain(text)) sealed[name] = vault.seal(String(text), column, ...key.map((value) => value ?? null));
  }
  tables.insertHeld(table, sealed);
}

/** A place after a row; without `key`, before the first row of the table. */
export interface CopyCursor {
  table: CopiedTable;
  key?: LongTextValue[];
}

export interface CopiedRow {
  table: CopiedTable;
  row: SqlRow;
}

/**
 * Characters after which a page is full. A page may exceed this by the rows of one statement, each of at most 2 MB. An RPC
 * message takes up to two bytes a character, so the page stays below its limit of 32 MiB.
 */
const PAGE = 2_000_000;
/** Rows that one statement reads. */
const AT_ONCE = 4;

/** The rows from a place on that make a page, and the next place; undefined at the end. */
export function copiedRows(tables: Tables, from: CopyCursor): { rows: CopiedRow[]; next?: CopyCursor } {
  const rows: CopiedRow[] = [];
  let size = 0;
  for (let place: CopyCursor | undefined = from; place;) {
    if (size >= PAGE) return { rows, next: place };
    const { table }: CopyCursor = place;
    const found = rowsAfter(tables, place);
    for (const row of found) {
      rows.push(...(table === "segments" ? withoutPack(row) : [{ table, row }]));
      size += Object.values(row).reduce<number>((sum, value) => sum + String(value).length, 0);
    }
    const last = found.at(-1);
    if (last && found.length === AT_ONCE) place = { table, key: KEYS[table].map((column) => last[column] ?? null) };
    else place = tableStart(COPIED_TABLES[COPIED_TABLES.indexOf(table) + 1]);
  }
  return { rows };
}

/** Where a copy begins. */
export const COPY_START: CopyCursor = { table: COPIED_TABLES[0] };

function tableStart(table: CopiedTable | undefined): CopyCursor | undefined {
  return table && { table };
}

/** A row of events, and the pack that it holds apart: a copy writes packs again. */
function withoutPack({ carried = null, pack = null, ...row }: SqlRow): CopiedRow[] {
  const segment: CopiedRow = { table: "segments", row };
  if (pack === null) return [segment];
  const [first_id = "", last_id = ""] = String(carried).split(" ");
  return [segment, { table: "packs", row: { last_id, n: 0, first_id, entries: pack } }];
}

/** Segments are read without their events: a copy starts its own log. */
function rowsAfter(tables: Tables, { table, key = [] }: CopyCursor): SqlRow[] {
  const columns = table === "segments" ? "first_seq, n, last_seq, '[]' events, '[]' metas, chunks, carried, pack" : "*";
  const order = KEYS[table].join(", ");
  const after = key.length === 0 ? "" : `WHERE (${order}) > (${key.map(() => "?").join(", ")})`;
  return tables.heldRows(`SELECT ${columns} FROM ${table} ${after} ORDER BY ${order} LIMIT ${AT_ONCE}`, ...key);
}

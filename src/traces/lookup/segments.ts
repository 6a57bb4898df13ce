/**
 * The entries of the index in SQLite. A row is billed, so no id has one: what one call registers is one row of `recent`. When these
 * have `RECENT` entries, they become a segment: sorted, in chunks by the first bits of the hashes. `MERGED` such segments become
 * one. A look-up reads one chunk of each segment; a segment of the second kind has the ids of about a million runs.
 */
import { addDays, addDaysOf, daysOf, type Entries, type IdHash, mergeEntries, wordsOf } from "./entries.ts";

/** The most entries and rows of `recent`. */
const RECENT = 65_536;
const RECENT_ROWS = 1_000;
/** How many segments of the first kind become one of the second. */
const MERGED = 16;
/** Entries of a chunk, about. A chunk has 8 bytes for each. */
const CHUNK = 4_096;
/** A chunk's number is its segment's, times this, and its place in it. */
const CHUNKS = 65_536;

export const SEGMENT_TABLES = `
  -- A deleted row is billed as a written one is, so rows of earlier rounds stay until they are written again.
  CREATE TABLE recent (n INTEGER PRIMARY KEY, round INTEGER NOT NULL, entries BLOB NOT NULL);
  CREATE TABLE rounds (round INTEGER NOT NULL);
  INSERT INTO rounds VALUES (0);
  -- bits: how many first bits of a hash say the chunk. level: 0, or 1 after a merge.
  CREATE TABLE segments (n INTEGER PRIMARY KEY, level INTEGER NOT NULL, bits INTEGER NOT NULL);
  CREATE TABLE chunks (n INTEGER PRIMARY KEY, entries BLOB NOT NULL);`;

interface Segment extends Record<string, SqlStorageValue> {
  n: number;
  level: number;
  bits: number;
}

const toEntries = (blob: ArrayBuffer): Entries => new BigUint64Array(blob);
export const toBlob = ({ buffer, byteOffset, byteLength }: Entries) =>
  buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;

export class Segments {
  /** The content of `recent`. Undefined until it is needed. */
  #recent: Entries[] | undefined;
  #segments: Segment[] | undefined;

  /** `readDays`: the numbers of the days that exist. */
  constructor(
    private readonly sql: SqlStorage,
    private readonly readDays: () => Set<number>,
  ) {}

  /** Adds entries. To be called inside a transaction; `forget` after one that failed. */
  add(entries: Entries): void {
    if (entries.length === 0) return;
    const recent = this.#readRecent();
    this.sql.exec(
      `INSERT INTO recent (n, round, entries) SELECT ?, round, ? FROM rounds WHERE true
       ON CONFLICT DO UPDATE SET round = excluded.round, entries = excluded.entries`,
      recent.length,
      toBlob(entries),
    );
    recent.push(entries);
    if (recent.length < RECENT_ROWS && recent.reduce((sum, { length }) => sum + length, 0) < RECENT) return;
    this.sql.exec("UPDATE rounds SET round = round + 1");
    this.#recent = [];
    this.#write(0, recent);
    const small = this.#readSegments().filter(({ level }) => level === 0);
    if (small.length < MERGED) return;
    const chunks = small.flatMap(({ n }) => [...this.#chunksOf(n)]);
    for (const segment of small) this.#delete(segment.n);
    this.#write(1, chunks);
  }

  /** The days of each hash. */
  find(hashes: IdHash[]): Set<number>[] {
    const found = hashes.map(() => new Set<number>());
    addDaysOf(found, hashes, this.#readRecent());
    // In the order of the hashes, neighbours are in one chunk.
    const order = hashes
      .map((hash, i) => ({ hash, days: found[i] as Set<number> }))
      .sort((a, b) => (a.hash.high >>> 0) - (b.hash.high >>> 0));
    for (const { n, bits } of this.#readSegments()) {
      let [at, entries]: [number, Entries] = [-1, new BigUint64Array(0)];
      for (const { hash, days } of order) {
        const own = n * CHUNKS + firstBits(hash.high, bits);
        if (own !== at) [at, entries] = [own, this.#readChunk(own)];
        addDays(days, entries, hash);
      }
    }
    return found;
  }

  /** Deletes segments whose days are all gone. To be called inside a transaction. */
  deleteDead(): void {
    const days = this.readDays();
    for (const { n } of this.#readSegments()) {
      if (!this.#isAlive(n, days)) this.#delete(n);
    }
  }

  #isAlive(n: number, days: Set<number>): boolean {
    for (const entries of this.#chunksOf(n)) for (const day of daysOf(entries)) if (days.has(day)) return true;
    return false;
  }

  forget(): void {
    this.#recent = this.#segments = undefined;
  }

  #write(level: number, parts: Entries[]): void {
    const days = this.readDays();
    const entries = mergeEntries(parts, (day) => days.has(day));
    if (entries.length === 0) return;
    const bits = Math.min(16, Math.max(0, Math.ceil(Math.log2(entries.length / CHUNK))));
    const { n } = this.sql
      .exec<{ n: number }>("INSERT INTO segments (level, bits) VALUES (?, ?) RETURNING n", level, bits)
      .one();
    const words = wordsOf(entries);
    for (let from = 0; from < entries.length;) {
      const chunk = firstBits(words[2 * from + 1] as number, bits);
      let to = from + 1;
      while (to < entries.length && firstBits(words[2 * to + 1] as number, bits) === chunk) to++;
      this.sql.exec(
        "INSERT INTO chunks (n, entries) VALUES (?, ?)",
        n * CHUNKS + chunk,
        toBlob(entries.subarray(from, to)),
      );
      from = to;
    }
    this.#segments = undefined;
  }

  #delete(n: number): void {
    this.sql.exec("DELETE FROM chunks WHERE n >= ? AND n < ?", n * CHUNKS, (n + 1) * CHUNKS);
    this.sql.exec("DELETE FROM segments WHERE n = ?", n);
    this.#segments = undefined;
  }

  #readRecent(): Entries[] {
    return (this.#recent ??= this.sql
      .exec<{ entries: ArrayBuffer }>("SELECT entries FROM recent WHERE round = (SELECT round FROM rounds) ORDER BY n")
      .toArray()
      .map(({ entries }) => toEntries(entries)));
  }

  #readSegments(): Segment[] {
    return (this.#segments ??= this.sql.exec<Segment>("SELECT n, level, bits FROM segments").toArray());
  }

  #readChunk(n: number): Entries {
    const [row] = this.sql.exec<{ entries: ArrayBuffer }>("SELECT entries FROM chunks WHERE n = ?", n).toArray();
    return row ? toEntries(row.entries) : new BigUint64Array(0);
  }

  *#chunksOf(n: number): Generator<Entries> {
    const rows = this.sql.exec<{ entries: ArrayBuffer }>(
      "SELECT entries FROM chunks WHERE n >= ? AND n < ?",
      n * CHUNKS,
      (n + 1) * CHUNKS,
    );
    for (const { entries } of rows) yield toEntries(entries);
  }
}

const firstBits = (high: number, bits: number): number => (bits === 0 ? 0 : (high >>> 0) >>> (32 - bits));

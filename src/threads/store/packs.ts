/**
 * Packs: the checkpoints that one flush writes, found by the ids that they span. A pack is in the row of the events that the same flush
 * writes, because rows written are billed. One that is large, or without events, has a row of its own, as have all packs of copies.
 */
import type { PackRow, SegmentRow, SqlRow, Statements } from "./statements.ts";

/** Characters of a pack in a row of events. Beside the row's other texts it fits the limit of 2 MB, also when it is sealed. */
const MAX_CARRIED = 40_000;
/** Rows that one statement reads. Packs may have some 400,000 characters each. */
const PACKS = 8;
/** Rows of events of which one statement reads the ids. */
const PLACES = 64;
/** Packs in rows of events may overlap by a moment: this many before a checkpoint are looked at. */
const NEAR = 8;

interface Pack {
  firstId: string;
  lastId: string;
  entries: string;
}

/** A row of events with a pack, and the ids that the pack spans. A list that is read as far as it was needed. */
interface Place {
  first_seq: number;
  n: number;
  first_id: string;
  last_id: string;
  /** The place before. Null: there is none. Undefined: not read yet. */
  older?: Place | null;
}

export class PackStore {
  /** Packs that rows of events may take. Undefined outside of a flush. */
  #gathered: Pack[] | undefined;
  /** As `older` of a place. */
  #newest: Place | null | undefined;

  constructor(private readonly sql: Statements) {}

  /** Writes a pack. While a flush gathers, the pack waits for a row of events. */
  insert(lastId: string, firstId: string, entries: string): void {
    const pack = { firstId, lastId, entries };
    if (this.#gathered && entries.length <= MAX_CARRIED) this.#gathered.push(pack);
    else this.#insert(pack);
  }

  /** Packs that `work` inserts wait until `writeRest`. */
  gather(work: () => void): void {
    this.#gathered = [];
    work();
  }

  /** The columns of a pack that this row takes; none when none waits. */
  carriedBy({ first_seq, n }: Pick<SegmentRow, "first_seq" | "n">): SqlRow {
    const pack = this.#gathered?.shift();
    if (!pack) return {};
    const { firstId: first_id, lastId: last_id } = pack;
    this.#newest = { first_seq, n, first_id, last_id, older: this.#newest };
    return { carried: `${first_id} ${last_id}`, pack: this.sql.texts.store(pack.entries, "packs", last_id) };
  }

  /** Writes the packs that no row of events has taken. */
  writeRest(): void {
    this.#insertGathered();
    this.#gathered = undefined;
  }

  /** Packs newest first, from those that may hold checkpoints before `before`. */
  *all(before?: string): Generator<PackRow, void, void> {
    this.#insertGathered();
    const rows = this.#rows(before);
    let row = rows.next().value;
    for (const position of this.#places(before)) {
      for (; row && row.last_id > position.last_id; row = rows.next().value) yield row;
      yield this.#carriedAt(position);
    }
    for (; row; row = rows.next().value) yield row;
  }

  /** Packs that may hold checkpoint `id`. */
  at(id: string): PackRow[] {
    this.#insertGathered();
    const sql = "SELECT last_id, n, entries FROM packs WHERE last_id >= ?1 AND first_id <= ?1 ORDER BY last_id, n";
    const rows = this.sql.all<PackRow>(sql, id).map((row) => this.#load(row));
    let older = 0;
    for (const position of this.#places()) {
      if (position.last_id >= id && position.first_id <= id) rows.push(this.#carriedAt(position));
      if (position.last_id < id && (older += 1) === NEAR) break;
    }
    return rows;
  }

  /** Replaces what a pack holds. */
  set({ last_id, n, carrier }: PackRow, entries: string): void {
    const key = { last_id, n };
    if (carrier) this.sql.update("segments", { ...carrier }, { pack: this.sql.texts.store(entries, "packs", last_id) });
    else if (entries === "[]") this.sql.remove("packs", key);
    else this.sql.update("packs", key, { entries: this.sql.texts.store(entries, "packs", last_id) });
  }

  /** The entries of a copied pack. */
  entriesIn({ entries = null, last_id = null }: SqlRow): string {
    return this.sql.texts.load(String(entries), "packs", last_id);
  }

  /** Clears the cached facts about the rows: they are read again. */
  forget(): void {
    this.#gathered = undefined;
    this.#newest = undefined;
  }

  /** Packs that wait have rows of their own when the same flush reads packs: a rollback removes what it finds. */
  #insertGathered(): void {
    for (const pack of this.#gathered?.splice(0) ?? []) this.#insert(pack);
  }

  #insert({ lastId, firstId, entries }: Pack): void {
    const sql = "SELECT max(n) + 1 AS n FROM packs WHERE last_id = ?";
    const n = this.sql.all<{ n: number | null }>(sql, lastId)[0]?.n ?? 0;
    const held = this.sql.texts.store(entries, "packs", lastId);
    this.sql.insert("packs", { last_id: lastId, n, first_id: firstId, entries: held });
  }

  /** Packs with rows of their own. */
  *#rows(before?: string): Generator<PackRow, void, void> {
    let cursor: { last_id: string; n: number } | undefined;
    for (;;) {
      const rows: PackRow[] = this.sql.all(
        `SELECT last_id, n, entries FROM packs WHERE (?1 IS NULL OR first_id < ?1)
         AND (?2 IS NULL OR (last_id, n) < (?2, ?3)) ORDER BY last_id DESC, n DESC LIMIT ${PACKS}`,
        before ?? null,
        cursor?.last_id ?? null,
        cursor?.n ?? null,
      );
      yield* rows.map((row) => this.#load(row));
      if (rows.length < PACKS) return;
      cursor = rows.at(-1);
    }
  }

  /** The rows of events with packs that may hold checkpoints before `before`, newest first, read as they are needed. */
  *#places(before?: string): Generator<Place, void, void> {
    if (this.#newest === undefined) this.#newest = this.#readPlaces();
    for (let position = this.#newest; position; position = this.#olderThan(position))
      if (before === undefined || position.first_id < before) yield position;
  }

  #olderThan(position: Place): Place | null {
    if (position.older === undefined) position.older = this.#readPlaces(position);
    return position.older;
  }

  /** Reads the places before this one, and gives the newest of them. */
  #readPlaces(before?: Place): Place | null {
    const rows = this.sql.all<{ first_seq: number; n: number; carried: string }>(
      `SELECT first_seq, n, carried FROM segments WHERE carried <> 0 AND (?1 IS NULL OR (first_seq, n) < (?1, ?2))
       ORDER BY first_seq DESC, n DESC LIMIT ${PLACES}`,
      before?.first_seq ?? null,
      before?.n ?? null,
    );
    let position: Place | null | undefined = rows.length < PLACES ? null : undefined;
    for (const { carried, ...row } of rows.toReversed()) {
      const [first_id = "", last_id = ""] = carried.split(" ");
      position = { ...row, first_id, last_id, older: position };
    }
    return position ?? null;
  }

  #carriedAt({ first_seq, n, last_id }: Place): PackRow {
    const sql = "SELECT pack AS entries FROM segments WHERE first_seq = ? AND n = ?";
    const [row] = this.sql.all<{ entries: string }>(sql, first_seq, n);
    return this.#load({ last_id, n, entries: row?.entries ?? "[]", carrier: { first_seq, n } });
  }

  #load(row: PackRow): PackRow {
    return { ...row, entries: this.sql.texts.load(row.entries, "packs", row.last_id) };
  }
}

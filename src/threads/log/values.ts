/**
 * Lists (of messages, mostly) as sequences of chunks that checkpoints and events share, so that a step writes what it
 * added or changed and not the list again.
 */
import { isStoredAs, shareText, dump, flatten, revive } from "../../runtime/stored.ts";
import { STATE_LIMIT, withinState } from "../limits.ts";
import type { Tables } from "../store/tables.ts";
import { SizedCache } from "../../lib/cache.ts";
import type { EventLog } from "./event-log.ts";
import type { ChunkRef } from "./segments.ts";

/** Chunks of a list that are shorter than this are merged once more than `MANY` of them trail it. */
const SMALL = 60_000;
const MANY = 32;
/** A known list counts as at least this many characters, so that an object knows at most a hundred. */
const LEAST = 250_000;
/**
 * Chunks as readers of whole states get them, and as they are stored (parsed). These are never changed: a graph gets what is
 * revived from them. About 40 MB of memory at most in one isolate.
 */
const flatChunks = new SizedCache<string, string>(8_000_000);
const storedChunks = new SizedCache<string, unknown[]>(4_000_000);

/** An item in its stored form. */
interface Item {
  text: string;
  stored: unknown;
}

/** A chunk with its items as they are stored (parsed). */
interface Part {
  chunk: ChunkRef;
  stored: unknown[];
}

export class ListStore {
  /** Of this instance: chunks of a deleted thread must not be found by a new thread with the same id. */
  readonly #id = crypto.randomUUID();
  /**
   * Each list as it was seen last. One that is not here is written as a new one. Each call of a nested graph has lists of
   * its own.
   */
  readonly #known = new SizedCache<string, Part[]>(STATE_LIMIT, STATE_LIMIT);

  constructor(
    private readonly tables: Tables,
    private readonly eventLog: EventLog,
  ) {}

  /** The chunks of a list; new ones are kept with the next flush. Chunks whose items are as they were stay. */
  encode(key: string, items: unknown[]): ChunkRef[] {
    const parts: Part[] = [];
    let changed: unknown[] = [];
    const write = () => {
      parts.push(...this.#write(changed));
      changed = [];
    };
    let at = 0;
    for (const part of this.#known.get(key) ?? []) {
      const end = at + part.stored.length;
      if (end <= items.length && part.stored.every((stored, i) => isStoredAs(items[at + i], stored))) {
        write();
        parts.push(part);
      } else changed = changed.concat(items.slice(at, end));
      at = end;
    }
    changed = changed.concat(items.slice(at));
    write();
    return this.#remember(key, this.#merged(parts));
  }

  /** The live items, which nothing else holds. */
  async decode(key: string, chunks: ChunkRef[]): Promise<unknown[]> {
    const known = this.#known.get(key) ?? [];
    const parts = chunks.map((chunk, i) => {
      const part = known[i];
      return part && isSame(part.chunk, chunk) ? part : { chunk, stored: this.#stored(chunk) };
    });
    const items: unknown[] = [];
    for (const { stored } of parts) for (const item of (await revive(stored)) as unknown[]) items.push(item);
    // An earlier state of the list is a part of what is known.
    if (parts.some((part, i) => part !== known[i])) this.#remember(key, parts);
    return items;
  }

  /** The list in wire form, as JSON. */
  flat(chunks: ChunkRef[]): string {
    return `[${chunks.map((chunk) => this.#flat(chunk)).join(",")}]`;
  }

  #remember(key: string, parts: Part[]): ChunkRef[] {
    const size = parts.reduce((sum, { chunk }) => sum + chunk[4], 0);
    this.#known.set(key, parts, Math.max(size, LEAST));
    return parts.map(({ chunk }) => chunk);
  }

  #write(items: unknown[]): Part[] {
    return this.#chunks(
      items.map((item) => {
        const text = dump(item);
        const stored: unknown = typeof item === "string" ? item : JSON.parse(text);
        shareText(item, stored);
        return { text, stored };
      }),
    );
  }

  /** Merges the small chunks at the end, once they are many. */
  #merged(parts: Part[]): Part[] {
    let from = parts.length;
    while (from > 0 && (parts[from - 1] as Part).chunk[4] < SMALL) from--;
    if (parts.length - from <= MANY) return parts;
    const items = parts.slice(from).flatMap(({ stored }) => stored);
    return parts.slice(0, from).concat(this.#chunks(items.map((stored) => ({ text: JSON.stringify(stored), stored }))));
  }

  #chunks(items: Item[]): Part[] {
    return pieces(items).map((piece) => {
      const chunk = this.eventLog.chunk(piece.map(({ text }) => text));
      const stored = piece.map((item) => item.stored);
      storedChunks.set(this.#address(chunk), stored, chunk[4]);
      return { chunk, stored };
    });
  }

  #stored(chunk: ChunkRef): unknown[] {
    const address = this.#address(chunk);
    const known = storedChunks.get(address);
    if (known) return known;
    const stored = this.#read(chunk);
    storedChunks.set(address, stored, chunk[4]);
    return stored;
  }

  #read(chunk: ChunkRef): unknown[] {
    const pending = this.eventLog.pendingChunk(chunk);
    if (pending !== undefined) return JSON.parse(pending) as unknown[];
    const [first, n, place] = chunk;
    const row = JSON.parse(this.tables.chunks(first, n) ?? "[]") as unknown[][];
    return row[place] ?? [];
  }

  /** The chunk's items in wire form, comma-separated, without brackets. */
  #flat(chunk: ChunkRef): string {
    const address = this.#address(chunk);
    const known = flatChunks.get(address);
    if (known !== undefined) return known;
    const text = JSON.stringify(flatten(this.#stored(chunk))).slice(1, -1);
    flatChunks.set(address, text, text.length);
    return text;
  }

  #address([first, n, place]: ChunkRef): string {
    return `${this.#id}.${first}.${n}.${place}`;
  }
}

const isSame = (one: ChunkRef, other: ChunkRef): boolean => one.every((part, i) => part === other[i]);

/** Cuts items into runs of at most `SMALL * 4` characters, at least one item each. */
function pieces(items: Item[]): Item[][] {
  const runs: Item[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const item of items) {
    if (size + item.text.length > SMALL * 4) {
      runs.push([]);
      size = 0;
    }
    runs.at(-1)?.push(item);
    size += item.text.length;
  }
  return runs;
}

// Channel values, normalised: a list is a sequence of shared chunks (`Lists`), other large values are kept once per content.

/** A value, its blob's hash with its length in characters, or a list's chunks. */
export type ValueRef = { v: unknown } | { b: string; s?: number } | { l: ChunkRef[] };
export type ValueRefs = Record<string, ValueRef>;

/** Up to this many characters, a value is stored in its reference. */
const INLINE = 1_000;
/** Length of a blob that was kept without it. */
const SOME_BLOB = 64_000;

/** What a live object was stored as. */
interface Fresh {
  key: string;
  ref: ValueRef;
  length?: number;
}

export class ValueStore {
  readonly #lists: ListStore;
  /** Of objects that no node can have changed since: a checkpoint and the events of its step have the same ones. */
  #fresh = new WeakMap<object, Fresh>();

  constructor(
    private readonly tables: Tables,
    private readonly eventLog: EventLog,
  ) {
    this.#lists = new ListStore(tables, eventLog);
  }

  /** A node has ended: it may have changed any live object. */
  touch(): void {
    this.#fresh = new WeakMap();
  }

  /** The reference of a value; what it refers to is kept with the next flush. `key` names the channel. */
  encode(key: string, value: unknown): ValueRef {
    if (typeof value !== "object" || value === null) return this.#encode(key, value);
    const fresh = this.#fresh.get(value);
    const length = Array.isArray(value) ? value.length : undefined;
    if (fresh?.key === key && fresh.length === length) return fresh.ref;
    const ref = this.#encode(key, value);
    this.#fresh.set(value, { key, ref, length });
    return ref;
  }

  #encode(key: string, value: unknown): ValueRef {
    if (Array.isArray(value) && value.length > 0) return { l: this.#lists.encode(key, value) };
    const text = dump(value);
    withinState(text.length);
    if (text.length <= INLINE) return { v: JSON.parse(text) as unknown };
    return { b: this.blob(text), s: text.length };
  }

  /** Keeps a text under its hash. */
  blob(text: string): string {
    const hash = this.tables.vault.ring.hash(text);
    if (this.#pendingBlobs.has(hash)) return hash;
    this.#pendingBlobs.set(hash, text);
    this.eventLog.due(() => {
      this.tables.putBlob(hash, text);
      this.#pendingBlobs.delete(hash);
    });
    return hash;
  }
  #pendingBlobs = new Map<string, string>();

  readBlob(hash: string): string {
    return this.#pendingBlobs.get(hash) ?? this.tables.blob(hash);
  }

  /** The live value of a reference, its messages revived. */
  async decode(key: string, ref: ValueRef): Promise<unknown> {
    if ("v" in ref) return revive(ref.v);
    if ("b" in ref) return revive(JSON.parse(this.readBlob(ref.b)));
    const items = await this.#lists.decode(key, ref.l);
    this.#fresh.set(items, { key, ref, length: items.length });
    return items;
  }

  /** The reference's value in wire form, as JSON. */
  flat(ref: ValueRef): string {
    if ("v" in ref) return JSON.stringify(flatten(ref.v));
    if ("b" in ref) return JSON.stringify(flatten(JSON.parse(this.readBlob(ref.b))));
    return this.#lists.flat(ref.l);
  }

  /** An object of references in wire form, as JSON. */
  flatAll(refs: ValueRefs): string {
    return `{${Object.entries(refs)
      .map(([key, ref]) => `${JSON.stringify(key)}:${this.flat(ref)}`)
      .join(",")}}`;
  }

  /** About how many characters `flatAll` would give, without giving them. */
  size(refs: ValueRefs): number {
    const sizes = Object.values(refs).map((ref) =>
      "l" in ref ? ref.l.reduce((sum, chunk) => sum + chunk[4], 0) : "b" in ref ? (ref.s ?? SOME_BLOB) : INLINE,
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  }
}

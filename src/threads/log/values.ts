/**
 * Channel values, normalised: a list (of messages, mostly) is a sequence of shared chunks, so that a step writes what it
 * added and not the list again; other large values are kept once per content.
 */
import { createHash } from "node:crypto";
import { dump, flatten, revive } from "../../runtime/serde.ts";
import type { EventLog } from "../log/event-log.ts";
import { SharedCache } from "./cache.ts";
import { withinState } from "../limits.ts";
import type { ChunkRef } from "../log/segments.ts";
import type { Tables } from "../storage/tables.ts";

/** A value, its blob's hash with its length in characters, or a list's chunks. */
export type Ref = { v: unknown } | { b: string; s?: number } | { l: ChunkRef[] };
export type Refs = Record<string, Ref>;

interface List {
  items: unknown[];
  chunks: ChunkRef[];
}

/** Up to this many characters, a value is stored in its reference. */
const INLINE = 1_000;
/** Chunks of a list that are shorter than this are merged once `MANY` of them trail it. */
const SMALL = 60_000;
const MANY = 32;
/** Length of a blob that was kept without it. */
const SOME_BLOB = 64_000;
/** Chunks as readers of whole states get them, and as graphs do; about 40 MB of memory at most in one isolate. */
const flatChunks = new SharedCache<string>(8_000_000);
const revivedChunks = new SharedCache<unknown[]>(4_000_000);

export class Values {
  /** Of this instance: chunks of a deleted thread must not be found by a new thread with the same id. */
  readonly #id = crypto.randomUUID();
  /** The list last seen per channel: its items' identities show what a step added. */
  #lists = new Map<string, List>();
  /** Objects a node has just written: it may have changed them in place. */
  #written = new WeakSet<object>();

  constructor(
    private readonly tables: Tables,
    private readonly eventLog: EventLog,
  ) {}

  /** Records objects that appear in a node's writes, so that `encode` compares their content and not their identity. */
  touch(value: unknown): void {
    for (const part of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof part === "object" && part !== null) this.#written.add(part);
    }
  }

  /** The reference of a value; what it refers to is kept with the next flush. `key` names the channel. */
  encode(key: string, value: unknown): Ref {
    if (Array.isArray(value) && value.length > 0) return { l: this.#list(key, value) };
    const text = dump(value);
    withinState(text.length);
    if (text.length <= INLINE) return { v: JSON.parse(text) as unknown };
    return { b: this.blob(text), s: text.length };
  }

  /** Keeps a text under its hash. */
  blob(text: string): string {
    const hash = createHash("sha256").update(text).digest("base64url");
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
  async decode(key: string, ref: Ref): Promise<unknown> {
    if ("v" in ref) return revive(ref.v);
    if ("b" in ref) return revive(JSON.parse(this.readBlob(ref.b)));
    const items: unknown[] = [];
    for (const chunk of ref.l) items.push(...(await this.#items(chunk)));
    this.#lists.set(key, { items: [...items], chunks: ref.l });
    return items;
  }

  /** The reference's value in wire form, as JSON. */
  flat(ref: Ref): string {
    if ("v" in ref) return JSON.stringify(flatten(ref.v));
    if ("b" in ref) return JSON.stringify(flatten(JSON.parse(this.readBlob(ref.b))));
    return `[${ref.l.map((chunk) => this.#flatChunk(chunk)).join(",")}]`;
  }

  /** An object of references in wire form, as JSON. */
  flatAll(refs: Refs): string {
    return `{${Object.entries(refs)
      .map(([key, ref]) => `${JSON.stringify(key)}:${this.flat(ref)}`)
      .join(",")}}`;
  }

  /** About how many characters `flatAll` would give, without giving them. */
  size(refs: Refs): number {
    const sizes = Object.values(refs).map((ref) =>
      "l" in ref ? ref.l.reduce((sum, chunk) => sum + chunk[4], 0) : "b" in ref ? (ref.s ?? SOME_BLOB) : INLINE,
    );
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  #list(key: string, items: unknown[]): ChunkRef[] {
    const last = this.#lists.get(key);
    const kept = last ? this.#commonPrefix(last, items) : 0;
    if (last && kept === last.items.length && kept === items.length) return last.chunks;
    let chunks: ChunkRef[] = [];
    let covered = 0;
    for (const chunk of last?.chunks ?? []) {
      if (covered + chunk[3] > kept) break;
      chunks.push(chunk);
      covered += chunk[3];
    }
    for (const texts of pieces(items.slice(covered).map((item) => dump(item)))) chunks.push(this.eventLog.chunk(texts));
    for (const item of items) if (typeof item === "object" && item !== null) this.#written.delete(item);
    if (chunks.length > MANY) chunks = this.#merge(chunks);
    this.#lists.set(key, { items: [...items], chunks });
    return chunks;
  }

  #commonPrefix(last: List, items: unknown[]): number {
    const length = Math.min(last.items.length, items.length);
    let stored: string[] | undefined;
    for (let i = 0; i < length; i++) {
      const item = items[i];
      if (item !== last.items[i]) return i;
      if (typeof item !== "object" || item === null || !this.#written.has(item)) continue;
      stored ??= last.chunks.flatMap((chunk) =>
        (JSON.parse(this.#text(chunk)) as unknown[]).map((x) => JSON.stringify(x)),
      );
      if (JSON.stringify(JSON.parse(dump(item))) !== stored[i]) return i;
    }
    return length;
  }

  #merge(chunks: ChunkRef[]): ChunkRef[] {
    let from = chunks.length;
    while (from > 0 && (chunks[from - 1] as ChunkRef)[4] < SMALL) from--;
    const texts = chunks
      .slice(from)
      .flatMap((chunk) => (JSON.parse(this.#text(chunk)) as unknown[]).map((item) => JSON.stringify(item)));
    return [...chunks.slice(0, from), ...pieces(texts).map((piece) => this.eventLog.chunk(piece))];
  }

  #text(chunk: ChunkRef): string {
    const pending = this.eventLog.pendingChunk(chunk);
    if (pending !== undefined) return pending;
    const [first, n, place] = chunk;
    const row = JSON.parse(this.tables.chunks(first, n) ?? "[]") as unknown[][];
    return JSON.stringify(row[place] ?? []);
  }

  async #items(chunk: ChunkRef): Promise<unknown[]> {
    const address = this.#address(chunk);
    const known = revivedChunks.get(address);
    if (known) return known;
    const items = (await revive(JSON.parse(this.#text(chunk)))) as unknown[];
    revivedChunks.set(address, items, chunk[4]);
    return items;
  }

  /** The chunk's items in wire form, comma-separated, without brackets. */
  #flatChunk(chunk: ChunkRef): string {
    const address = this.#address(chunk);
    const known = flatChunks.get(address);
    if (known !== undefined) return known;
    const text = JSON.stringify(flatten(JSON.parse(this.#text(chunk)))).slice(1, -1);
    flatChunks.set(address, text, text.length);
    return text;
  }

  #address([first, n, place]: ChunkRef): string {
    return `${this.#id}.${first}.${n}.${place}`;
  }
}

/** Cuts a list of texts into runs of at most `SMALL * 4` characters, at least one text each. */
function pieces(texts: string[]): string[][] {
  const runs: string[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const text of texts) {
    if (size + text.length > SMALL * 4) {
      runs.push([]);
      size = 0;
    }
    runs.at(-1)?.push(text);
    size += text.length;
  }
  return runs;
}

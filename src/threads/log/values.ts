/** Channel values, normalised: a list is a sequence of shared chunks (lists.ts), other large values are kept once per content. */
import { dump, flatten, revive } from "../../runtime/stored.ts";
import type { EventLog } from "../log/event-log.ts";
import { withinState } from "../limits.ts";
import { Lists } from "./lists.ts";
import type { ChunkRef } from "../log/segments.ts";
import type { Tables } from "../store/tables.ts";

/** A value, its blob's hash with its length in characters, or a list's chunks. */
export type Ref = { v: unknown } | { b: string; s?: number } | { l: ChunkRef[] };
export type Refs = Record<string, Ref>;

/** Up to this many characters, a value is stored in its reference. */
const INLINE = 1_000;
/** Length of a blob that was kept without it. */
const SOME_BLOB = 64_000;

/** What a live object was stored as. */
interface Fresh {
  key: string;
  ref: Ref;
  length?: number;
}

export class Values {
  readonly #lists: Lists;
  /** Of objects that no node can have changed since: a checkpoint and the events of its step have the same ones. */
  #fresh = new WeakMap<object, Fresh>();

  constructor(
    private readonly tables: Tables,
    private readonly eventLog: EventLog,
  ) {
    this.#lists = new Lists(tables, eventLog);
  }

  /** A node has ended: it may have changed any live object. */
  touch(): void {
    this.#fresh = new WeakMap();
  }

  /** The reference of a value; what it refers to is kept with the next flush. `key` names the channel. */
  encode(key: string, value: unknown): Ref {
    if (typeof value !== "object" || value === null) return this.#encode(key, value);
    const fresh = this.#fresh.get(value);
    const length = Array.isArray(value) ? value.length : undefined;
    if (fresh?.key === key && fresh.length === length) return fresh.ref;
    const ref = this.#encode(key, value);
    this.#fresh.set(value, { key, ref, length });
    return ref;
  }

  #encode(key: string, value: unknown): Ref {
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
  async decode(key: string, ref: Ref): Promise<unknown> {
    if ("v" in ref) return revive(ref.v);
    if ("b" in ref) return revive(JSON.parse(this.readBlob(ref.b)));
    const items = await this.#lists.decode(key, ref.l);
    this.#fresh.set(items, { key, ref, length: items.length });
    return items;
  }

  /** The reference's value in wire form, as JSON. */
  flat(ref: Ref): string {
    if ("v" in ref) return JSON.stringify(flatten(ref.v));
    if ("b" in ref) return JSON.stringify(flatten(JSON.parse(this.readBlob(ref.b))));
    return this.#lists.flat(ref.l);
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
}

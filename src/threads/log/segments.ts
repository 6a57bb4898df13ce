/** What the next flush writes of the log: events, and chunks of lists, in rows of bounded size. */
import { SizedCache } from "../../lib/cache.ts";
import type { EventText } from "./events.ts";
import type { Json } from "../../lib/json.ts";
import type { SegmentRow } from "../store/statements.ts";

// The latest events of the log in memory: readers that follow need no statement, and share one text of an event.

/** An event as it was appended. */
export interface RecentEvent extends Omit<EventText, "text"> {
  /** JSON. */
  data: string;
  /** `data` refers to what is kept elsewhere. */
  refs?: boolean;
  /** `data` with its references resolved, after the first read. */
  whole?: string;
}

/** Characters that one thread keeps. A reader further back reads the tables. */
const LIMIT = 2_000_000;
/** Events that one reading takes at most, so that a slow reader does not hold thousands of lines. */
export const EVENTS_AT_ONCE = 512;

/**
 * What all threads of this isolate keep. It belongs to none of them: nothing runs when an object is evicted, and what such
 * an object kept is evicted from here as soon as others need the room.
 */
const kept = new SizedCache<RecentEvents, Kept>(16_000_000);

interface Kept {
  events: RecentEvent[];
  size: number;
}

export class RecentEvents {
  /** Takes the next event of the log: sequence numbers come without gaps. */
  add(event: RecentEvent): void {
    const { events, size } = kept.get(this) ?? { events: [], size: 0 };
    events.push(event);
    this.#keep(events, size + measureEvent(event));
  }

  /** The next events after `seq`, up to `last`; undefined when they are no longer all here. */
  after(seq: number, last: number): RecentEvent[] | undefined {
    const events = kept.get(this)?.events;
    const first = events?.[0]?.seq;
    if (!events || first === undefined || first > seq + 1) return undefined;
    const from = seq + 1 - first;
    return events.slice(from, Math.min(from + EVENTS_AT_ONCE, last + 1 - first));
  }

  /** The event with its whole data; `expand` puts in what the data refers to, the first time. */
  text(event: RecentEvent, expand: (data: string) => string): string {
    if (!event.refs) return event.data;
    if (event.whole !== undefined) return event.whole;
    const whole = expand(event.data);
    if (whole.length > LIMIT) return whole;
    event.whole = whole;
    const { events, size } = kept.get(this) ?? { events: [], size: 0 };
    // A removed event is no longer counted.
    if (events[event.seq - (events[0]?.seq ?? 0)] === event) this.#keep(events, size + whole.length);
    return whole;
  }

  /** Removes the events after `seq`: their commit failed. */
  dropAfter(seq: number): void {
    const events = (kept.get(this)?.events ?? []).filter((event) => event.seq <= seq);
    this.#keep(events, measureEvents(events));
  }

  /** Clears the cache: the tables have changed, or the thread is deleted. */
  forget(): void {
    kept.delete(this);
  }

  #keep(events: RecentEvent[], size: number): void {
    if (size <= LIMIT) return kept.set(this, { events, size }, size);
    let left = size;
    const from = events.findIndex((event, i) => {
      if (left <= LIMIT / 2 || i === events.length - 1) return true;
      left -= measureEvent(event);
      return false;
    });
    kept.set(this, { events: events.slice(from), size: left }, left);
  }
}

/** About how many characters an event holds in memory. */
function measureEvent({ data, meta = "", whole = "" }: RecentEvent): number {
  return 200 + data.length + meta.length + whole.length;
}

const measureEvents = (events: RecentEvent[]): number => events.reduce((sum, event) => sum + measureEvent(event), 0);

/** The location of a chunk of list items: its segment row, its index there, the number of items and of characters. */
export type ChunkRef = [first: number, n: number, place: number, count: number, size: number];

/** An event as a segment's row holds it. */
export interface StoredEvent extends Omit<EventText, "meta" | "text"> {
  /** Its place in the row's `metas`. */
  meta?: number;
  /** `data` refers to what is kept elsewhere. */
  refs?: boolean;
  /** Of an event that compaction merged, or that is beside one: see compact.ts. Empty when it is one part. */
  cuts?: number[];
  data: Json | null;
}

interface Segment {
  first: number;
  n: number;
  last: number;
  events: string[];
  metas: Map<string, number>;
  chunks: string[];
  size: number;
}

/** Characters after which a row is closed. A longer text of its own is split by the tables (store/long-text.ts). */
const ROW_SIZE = 400_000;

export class Segments {
  /** Characters that wait to be written. */
  size = 0;
  #open: Segment;
  #full: Segment[] = [];

  /** Starts at the row (`first`, `n`). */
  constructor(first: number, n: number) {
    this.#open = emptySegment(first, n);
  }

  /** Adds an event; sequence numbers come without gaps. */
  event({ seq, ts, run, method, ns, node, meta, data, refs }: RecentEvent): void {
    this.#makeRoom(seq, data.length);
    const row = this.#open;
    let line = `{"seq":${seq},"ts":${ts},"run":"${run}","method":"${method}","ns":${JSON.stringify(ns)}`;
    if (node !== undefined) line += `,"node":${JSON.stringify(node)}`;
    if (refs) line += ',"refs":true';
    if (meta !== undefined) line += `,"meta":${this.#meta(meta)}`;
    line += `,"data":${data}}`;
    row.events.push(line);
    row.last = seq;
    this.#grow(line.length);
  }

  /** Adds a chunk of items (each JSON) to the row that event `next` will be in. */
  chunk(next: number, items: string[]): ChunkRef {
    const body = `[${items.join(",")}]`;
    this.#makeRoom(next, body.length);
    const row = this.#open;
    row.chunks.push(body);
    this.#grow(body.length);
    return [row.first, row.n, row.chunks.length - 1, items.length, body.length];
  }

  pendingChunk([first, n, place]: ChunkRef): string | undefined {
    return [...this.#full, this.#open].find((row) => row.first === first && row.n === n)?.chunks[place];
  }

  /** The rows that wait. */
  rows(): SegmentRow[] {
    return [...this.#full, this.#open]
      .filter((row) => row.events.length > 0 || row.chunks.length > 0)
      .map(({ first, n, last, events, metas, chunks }) => ({
        first_seq: first,
        n,
        last_seq: last,
        events: `[${events.join(",")}]`,
        metas: `[${[...metas.keys()].join(",")}]`,
        chunks: `[${chunks.join(",")}]`,
      }));
  }

  /** What `rows` gave has been written; the next event is `next`. */
  written(next: number): void {
    const { first, n, events, chunks } = this.#open;
    const wrote = events.length > 0 || chunks.length > 0;
    this.#full = [];
    this.size = 0;
    this.#open = emptySegment(next, first === next ? n + (wrote ? 1 : 0) : 0);
  }

  /** Saves this state, while no write is pending. The returned function restores it. */
  mark(): () => void {
    const { first, n } = this.#open;
    return () => {
      this.#full = [];
      this.size = 0;
      this.#open = emptySegment(first, n);
    };
  }

  #meta(meta: string): number {
    const { metas } = this.#open;
    const known = metas.get(meta);
    if (known !== undefined) return known;
    metas.set(meta, metas.size);
    this.#grow(meta.length);
    return metas.size - 1;
  }

  #makeRoom(next: number, size: number): void {
    const row = this.#open;
    if (row.size === 0 || row.size + size <= ROW_SIZE) return;
    this.#full.push(row);
    this.#open = emptySegment(next, row.first === next ? row.n + 1 : 0);
  }

  #grow(size: number): void {
    this.#open.size += size;
    this.size += size;
  }
}

function emptySegment(first: number, n: number): Segment {
  return { first, n, last: first - 1, events: [], metas: new Map(), chunks: [], size: 0 };
}

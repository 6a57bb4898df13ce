/**
 * The thread's one event log, with thread-wide sequence numbers from 1, and its group commit: events gather for a
 * moment, then one transaction writes them together with whatever else has become due; only then do readers see them.
 */
import type { EventMethod } from "./events.ts";
import { Recent } from "./recent.ts";
import type { Tables } from "./tables.ts";

export interface NewEvent {
  runId: string;
  /** See `LogEvent` in events.ts. */
  method: EventMethod;
  namespace: string[];
  node?: string;
  /** JSON. */
  data: string;
  /** `data` refers to what is kept elsewhere: a blob, or the chunks of a state's lists. */
  refs?: boolean;
  /** JSON that many events of one message share; kept once a row. */
  meta?: string;
}

/** Where a chunk of list items lies: its segment row, its place there, how many items and how many characters. */
export type ChunkRef = [first: number, n: number, place: number, count: number, size: number];

interface Row {
  first: number;
  n: number;
  last: number;
  events: string[];
  metas: Map<string, number>;
  chunks: string[];
  size: number;
}

/** Milliseconds that events may gather. Whatever must be kept at once calls `flush` itself. */
const GATHER_MS = 50;
/** A row's text is closed past this many characters, far below SQLite's 2 MB even if each takes 3 bytes. */
const ROW_SIZE = 400_000;

export class Journal {
  /** The last sequence number given out. */
  seq: number;
  /** The last one that is durable, up to which readers see. */
  visible: number;
  ended = false;
  /** What readers who follow read. */
  readonly recent = new Recent();
  #row: Row;
  #full: Row[] = [];
  #due: (() => void)[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #readers = new Set<() => void>();
  #durable: Promise<void> = Promise.resolve();

  constructor(
    private readonly tables: Tables,
    private readonly sync: () => Promise<void>,
  ) {
    const { seq, first, n } = tables.lastSeq();
    this.seq = this.visible = seq;
    this.#row = emptyRow(seq + 1, first === seq + 1 ? n + 1 : 0);
  }

  /** Adds an event; it becomes visible with the next flush. Returns its sequence number. */
  append({ runId, method, namespace, node, data, refs, meta }: NewEvent): number {
    this.#makeRoom(data.length);
    const row = this.#row;
    this.seq += 1;
    row.last = this.seq;
    let head = `{"seq":${this.seq},"ts":${Date.now()},"run":"${runId}","method":"${method}","ns":${JSON.stringify(namespace)}`;
    if (node !== undefined) head += `,"node":${JSON.stringify(node)}`;
    const marks = `${refs ? ',"refs":true' : ""}${meta === undefined ? "" : `,"meta":${metaIndex(row, meta)}`}`;
    const line = `${head}${marks},"data":${data}}`;
    row.events.push(line);
    row.size += line.length;
    this.recent.add({ seq: this.seq, run: runId, method, head, meta, data, refs });
    this.#timer ??= setTimeout(() => this.flush(), GATHER_MS);
    return this.seq;
  }

  /** Adds a chunk of list items (each JSON), to be kept with the next flush. */
  chunk(items: string[]): ChunkRef {
    const body = `[${items.join(",")}]`;
    this.#makeRoom(body.length);
    const row = this.#row;
    row.chunks.push(body);
    row.size += body.length;
    return [row.first, row.n, row.chunks.length - 1, items.length, body.length];
  }

  /** A chunk that no flush has written yet. */
  pendingChunk([first, n, place]: ChunkRef): string | undefined {
    return [...this.#full, this.#row].find((row) => row.first === first && row.n === n)?.chunks[place];
  }

  /** Has `write` run inside the next flush's transaction. */
  due(write: () => void): void {
    this.#due.push(write);
  }

  /** Writes everything gathered, in one transaction, at once; readers see it as soon as it is durable. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const rows = [...this.#full, this.#row].filter((row) => row.events.length > 0 || row.chunks.length > 0);
    const due = this.#due;
    if (rows.length === 0 && due.length === 0) return;
    this.tables.transaction(() => {
      for (const row of rows) this.tables.insertSegment(segment(row));
      for (const write of due) write();
    });
    this.#full = [];
    this.#due = [];
    const last = rows.at(-1);
    if (last) this.#row = emptyRow(this.seq + 1, last.first === this.seq + 1 ? last.n + 1 : 0);
    const { seq } = this;
    this.#durable = this.sync().then(() => this.#publish(seq));
  }

  /** Resolves when everything flushed so far is durable and visible. */
  async settled(): Promise<void> {
    return this.#durable;
  }

  /** Calls `wake` whenever more has become visible, until the returned function is called. */
  follow(wake: () => void): () => void {
    this.#readers.add(wake);
    return () => this.#readers.delete(wake);
  }

  #publish(seq: number): void {
    if (seq > this.visible) this.visible = seq;
    this.wake();
  }

  /** The log is no more: its readers are let go, and come back to what is there then. */
  end(): void {
    this.ended = true;
    this.wake();
  }

  /** Lets every reader look again. */
  wake(): void {
    for (const wake of this.#readers) wake();
  }

  #makeRoom(size: number): void {
    const row = this.#row;
    if (row.size === 0 || row.size + size <= ROW_SIZE) return;
    this.#full.push(row);
    this.#row = emptyRow(this.seq + 1, row.first === this.seq + 1 ? row.n + 1 : 0);
  }
}

function emptyRow(first: number, n: number): Row {
  return { first, n, last: first - 1, events: [], metas: new Map(), chunks: [], size: 0 };
}

function metaIndex(row: Row, meta: string): number {
  const known = row.metas.get(meta);
  if (known !== undefined) return known;
  row.metas.set(meta, row.metas.size);
  row.size += meta.length;
  return row.metas.size - 1;
}

function segment({ first, n, last, events, metas, chunks }: Row) {
  return {
    first_seq: first,
    n,
    last_seq: last,
    events: `[${events.join(",")}]`,
    metas: `[${[...metas.keys()].join(",")}]`,
    chunks: `[${chunks.join(",")}]`,
  };
}

/**
 * The thread's one event log, with thread-wide sequence numbers from 1, and its group commit: events gather for a
 * moment, then one transaction writes them together with all other pending writes. Only then do readers see them.
 */
import { logError } from "../../http/log.ts";
import type { EventMethod } from "./events.ts";
import { Recent } from "./recent.ts";
import { type ChunkRef, Segments } from "./segments.ts";
import type { SegmentRow, Tables } from "../storage/tables.ts";

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

/** Milliseconds that events may gather. What must be kept at once calls `flush` itself. */
const GATHER_MS = 50;
/**
 * Milliseconds for tokens, once some have just been written: each flush writes a row, and rows are most of what a run with
 * many tokens costs (docs/costs.md).
 */
const GATHER_TOKENS_MS = 200;
/** Milliseconds after which tokens count as the first ones again. */
const PAUSE_MS = 1_000;
const TOKENS: EventMethod[] = ["tuple", "messages"];
/** Pending characters that cause an immediate write. */
const GATHER_SIZE = 4_000_000;

export class EventLog {
  /** The last sequence number given out. */
  seq: number;
  /** The last one that is durable, up to which readers see. */
  visible: number;
  ended = false;
  /** What readers who follow read. */
  readonly recent = new Recent();
  readonly #segments: Segments;
  #due: (() => void)[] = [];
  #taskFinished = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAt = 0;
  /** When tokens were written last, milliseconds since the epoch, and whether some wait. */
  #tokensWritten = 0;
  #tokensWait = false;
  #readers = new Set<() => void>();
  #durable: Promise<void> = Promise.resolve();

  /**
   * `sync` resolves when what has been written is durable. `restart` makes the object read all state again, because
   * memory is ahead of storage after a failed flush.
   */
  constructor(
    private readonly tables: Tables,
    private readonly sync: () => Promise<void>,
    private readonly restart: () => void,
  ) {
    const { seq, first, n } = tables.lastSeq();
    this.seq = this.visible = seq;
    this.#segments = new Segments(seq + 1, first === seq + 1 ? n + 1 : 0);
  }

  /** Adds an event; it becomes visible with the next flush. Returns its sequence number. */
  append({ runId, method, namespace, node, data, refs, meta }: NewEvent): number {
    const event = { seq: this.seq + 1, ts: Date.now(), run: runId, method, ns: namespace, node, meta, data, refs };
    this.#segments.event(event);
    this.seq = event.seq;
    this.recent.add(event);
    const isToken = TOKENS.includes(method);
    this.#tokensWait ||= isToken;
    this.#plan(isToken && event.ts - this.#tokensWritten < PAUSE_MS ? GATHER_TOKENS_MS : GATHER_MS);
    return event.seq;
  }

  /** Adds a chunk of list items (each JSON), to be kept with the next flush. */
  chunk(items: string[]): ChunkRef {
    const ref = this.#segments.chunk(this.seq + 1, items);
    this.#plan(GATHER_MS);
    return ref;
  }

  /** A chunk that no flush has written yet. */
  pendingChunk(ref: ChunkRef): string | undefined {
    return this.#segments.pendingChunk(ref);
  }

  /** Has `write` run inside the next flush's transaction. `size`: characters it keeps in memory until then. */
  due(write: () => void, size = 0): void {
    this.#due.push(write);
    this.#segments.size += size;
  }

  /**
   * A task that the graph's author wrote has ended: its result waits for the next flush, when another task begins or when
   * the run ends. LangGraph's own first task, `__start__`, has no effects, so it may run twice.
   */
  taskFinished(): void {
    this.#taskFinished = true;
  }

  /** A task begins: what finished before it must be written first, so that no finished task runs twice. */
  taskBegins(): void {
    if (this.#taskFinished) this.flush();
  }

  /** Writes everything gathered, in one transaction, at once; readers see it as soon as it is durable. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const rows = this.#segments.rows();
    if (rows.length === 0 && this.#due.length === 0) return;
    try {
      this.#write(rows, this.#due);
    } catch (error) {
      this.#lost(error);
      throw error;
    }
  }

  /**
   * Writes what `build` appends and makes due, in one transaction of its own. When it fails, the log is as it was before
   * and the error is the caller's. Other changes in memory must wait until this returns.
   */
  commit<T>(build: () => T): T {
    this.flush();
    const { seq } = this;
    const undo = this.#segments.mark();
    try {
      const built = build();
      this.#write(this.#segments.rows(), this.#due);
      return built;
    } catch (error) {
      this.seq = seq;
      this.#due = [];
      undo();
      this.recent.dropAfter(seq);
      throw error;
    } finally {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
  }

  /** Writes everything gathered; resolves when readers have had the chance to take it. */
  async settle(): Promise<void> {
    this.flush();
    await this.#durable;
    await new Promise((resolve) => setTimeout(resolve, 0));
  }

  /** Resolves when everything flushed so far is durable and visible. */
  async settled(): Promise<void> {
    return this.#durable;
  }

  /** Calls `wake` whenever more has become visible, until the returned function is called. */
  follow(notify: () => void): () => void {
    this.#readers.add(notify);
    return () => this.#readers.delete(notify);
  }

  /** The thread is deleted: streams of its log end. */
  end(): void {
    this.ended = true;
    this.notify();
  }

  /** How many readers follow. */
  get readers(): number {
    return this.#readers.size;
  }

  /** Lets every reader look again. */
  notify(): void {
    for (const notify of this.#readers) notify();
  }

  #write(rows: SegmentRow[], due: (() => void)[]): void {
    this.tables.transaction(() => {
      for (const row of rows) this.tables.insertSegment(row);
      for (const write of due) write();
    });
    this.#due = [];
    this.#taskFinished = false;
    if (this.#tokensWait) this.#tokensWritten = Date.now();
    this.#tokensWait = false;
    this.#segments.written(this.seq + 1);
    const { seq } = this;
    this.#durable = this.sync().then(() => this.#publish(seq));
    this.#durable.catch((error: unknown) => this.#lost(error));
  }

  #lost(error: unknown): void {
    logError(error, { while: "writing a thread's log" });
    this.restart();
  }

  /** Schedules the write of pending events within this many milliseconds. */
  #plan(within: number): void {
    if (this.#segments.size > GATHER_SIZE) return this.flush();
    const at = Date.now() + within;
    if (this.#timer !== undefined && this.#timerAt <= at) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.flush(), within);
  }

  #publish(seq: number): void {
    if (seq > this.visible) this.visible = seq;
    this.notify();
  }
}

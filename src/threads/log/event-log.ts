/**
 * The thread's one event log, with thread-wide sequence numbers from 1, and its group commit: events gather for a
 * moment, then one transaction writes them together with all other pending writes. Readers see facts once they are durable,
 * and tokens once all facts before them are (docs/event-log.md).
 */
import { logError } from "../../lib/log.ts";
import type { EventMethod } from "./events.ts";
import { EVENTS_AT_ONCE, RecentEvents, type RecentEvent, type ChunkRef, Segments } from "./segments.ts";
import type { SegmentRow } from "../store/statements.ts";
import type { Tables } from "../store/tables.ts";

// How far a log is written, durable and visible. Readers see a fact when it is durable, and a token when all facts before
// it are. The order of events is therefore the same for every reader.

/**
 * The most tokens that readers see before they are durable, and the numbers that are left out after a process has stopped
 * in a run: no number that a reader has seen is given out again.
 */
export const MAX_UNWRITTEN = 100_000;

export class Watermarks {
  /** The last sequence number that is in the tables. */
  written: number;
  #durable: number;
  /** The numbers of the facts that are not durable. */
  #facts: number[] = [];

  constructor(seq: number) {
    this.written = this.#durable = seq;
  }

  addFact(seq: number): void {
    this.#facts.push(seq);
  }

  /** Whether a fact waits to be written. */
  get factWaits(): boolean {
    return (this.#facts.at(-1) ?? 0) > this.written;
  }

  /** The last number that readers see of a log that has given out numbers up to `seq`. */
  visible(seq: number): number {
    const fact = this.#facts[0] ?? Infinity;
    return Math.max(this.#durable, Math.min(seq, fact - 1, this.#durable + MAX_UNWRITTEN - 1));
  }

  /** Everything up to here is durable. */
  confirm(seq: number): void {
    this.#durable = Math.max(this.#durable, seq);
    this.#facts = this.#facts.filter((fact) => fact > this.#durable);
  }

  /** The facts after `seq` were not written. */
  dropAfter(seq: number): void {
    this.#facts = this.#facts.filter((fact) => fact <= seq);
  }
}

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
  /** Of a token. Any other event is a fact. */
  token?: TokenWrite;
}

/** When a token is written: before readers see it, within thirty seconds, or with the next fact. */
export type TokenWrite = "first" | "soon" | "late";

/** Milliseconds that facts may gather. What must be kept at once calls `flush` itself. */
const GATHER_MS = 50;
/** Milliseconds for tokens: each flush writes a row, and rows are most of what a run costs (docs/costs.md). */
const GATHER_TOKENS_MS = { first: 200, soon: 30_000, late: Infinity };
/** The part of these by which logs differ: runs that begin together would write together, one after the other. */
const SPREAD = 0.25;
/** Milliseconds for facts that a token waits for. */
const GATHER_BEFORE_TOKEN_MS = 5;
/** Pending characters that cause an immediate write. */
const GATHER_SIZE = 4_000_000;
/** The same when the event is a token that is written soon. */
const GATHER_TOKENS_SIZE = 375_000;
/** Characters of a token. A longer one is a fact. */
const MAX_TOKEN_LENGTH = 64_000;

export class EventLog {
  /** The last sequence number given out. */
  seq: number;
  ended = false;
  /** What readers who follow read. */
  readonly recent = new RecentEvents();
  readonly #segments: Segments;
  readonly #spread = 1 - SPREAD * Math.random();
  #due: (() => void)[] = [];
  #taskFinished = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAt = 0;
  #marks: Watermarks;
  /** The events that are not in the tables. */
  #unwritten: RecentEvent[] = [];
  #lastToken = 0;
  #readers = new Set<() => void>();
  #expectsReader = false;
  #waking: ReturnType<typeof setTimeout> | undefined;
  #syncing: Promise<void> = Promise.resolve();

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
    this.seq = seq;
    this.#marks = new Watermarks(seq);
    this.#segments = new Segments(seq + 1, first === seq + 1 ? n + 1 : 0);
  }

  /** The last sequence number that readers see: facts up to here are durable. */
  get visible(): number {
    return this.#marks.visible(this.seq);
  }

  /** The process stopped in a run. Readers may have seen tokens that were not written: later numbers are past theirs. */
  skipUnwritten(): void {
    this.seq += MAX_UNWRITTEN;
    this.#marks = new Watermarks(this.seq);
    this.#segments.written(this.seq + 1);
  }

  /** Whether an event that was given this number is kept, or was lost with its process. */
  has(seq: number): boolean {
    return seq > this.#marks.written ? seq <= this.seq : this.tables.hasSeq(seq);
  }

  /**
   * Adds an event. A fact becomes visible with the next flush, a token when the facts before it are visible. Returns its
   * sequence number.
   */
  append({ runId, method, namespace, node, data, refs, meta, token }: NewEvent): number {
    const event = { seq: this.seq + 1, ts: Date.now(), run: runId, method, ns: namespace, node, meta, data, refs };
    this.#segments.event(event);
    this.seq = event.seq;
    this.recent.add(event);
    this.#unwritten.push(event);
    if (token) this.#lastToken = event.seq;
    if (!token || token === "first" || data.length > MAX_TOKEN_LENGTH) {
      this.#marks.addFact(event.seq);
      this.#plan(token === "first" ? GATHER_TOKENS_MS.first : GATHER_MS);
    } else if (token === "soon" && this.#segments.size > GATHER_TOKENS_SIZE) this.flush();
    else this.#plan(this.#marks.factWaits ? GATHER_BEFORE_TOKEN_MS : this.#spread * GATHER_TOKENS_MS[token]);
    if (this.visible === event.seq) this.#waking ??= setTimeout(() => this.notify(), 0);
    return event.seq;
  }

  /** The next visible events after `seq`; undefined when they are in the tables only. */
  inMemory(seq: number): RecentEvent[] | undefined {
    const { visible } = this;
    const { written } = this.#marks;
    if (seq < written) return this.recent.after(seq, visible);
    const from = seq - written;
    return this.#unwritten.slice(from, Math.min(from + EVENTS_AT_ONCE, visible - written));
  }

  /** The last visible sequence number that is in the tables. */
  get stored(): number {
    return Math.min(this.#marks.written, this.visible);
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
    this.#stopTimer();
    const rows = this.#segments.rows();
    if (rows.length === 0 && this.#due.length === 0) return;
    try {
      this.#write(rows, this.#due);
    } catch (error) {
      this.#lost(error);
      throw error;
    }
    this.#publishWritten();
  }

  /**
   * Writes what `build` appends and makes due, in one transaction of its own. When it fails, the log is as it was before
   * and the error is the caller's. Other changes in memory must wait until this returns. Where `choose` says "gathered", only what is
   * due is written, and the events share the row of the next flush.
   */
  commit<T>(build: () => T, choose: (built: T) => "written" | "gathered" = () => "written"): T {
    this.flush();
    const { seq } = this;
    const undo = this.#segments.mark();
    try {
      const built = build();
      if (choose(built) === "written") this.#write(this.#segments.rows(), this.#due);
      else this.#insert([], this.#due);
      this.#publishWritten();
      return built;
    } catch (error) {
      this.seq = seq;
      this.#due = [];
      this.#unwritten = [];
      this.#marks.dropAfter(seq);
      undo();
      this.recent.dropAfter(seq);
      this.#stopTimer();
      throw error;
    }
  }

  /** Resolves when readers have had the chance to take every token. */
  async tokensTaken(): Promise<void> {
    while (this.visible < this.#lastToken) {
      this.flush();
      await this.#syncing;
    }
    await new Promise((resolve) => setTimeout(resolve, 0));
  }

  /** Resolves when everything flushed so far is durable and visible. */
  async settled(): Promise<void> {
    return this.#syncing;
  }

  /** Calls `wake` whenever more has become visible, until the returned function is called. */
  follow(notify: () => void): () => void {
    this.#expectsReader = false;
    this.#readers.add(notify);
    return () => this.#readers.delete(notify);
  }

  /** The thread is deleted: streams of its log end. */
  end(): void {
    this.ended = true;
    this.notify();
  }

  /** The caller of what comes next will follow. */
  expectReader(): void {
    this.#expectsReader = true;
  }

  get isRead(): boolean {
    return this.#expectsReader || this.#readers.size > 0;
  }

  /** How many readers follow. */
  get readers(): number {
    return this.#readers.size;
  }

  /** Lets every reader look again. */
  notify(): void {
    clearTimeout(this.#waking);
    this.#waking = undefined;
    for (const notify of this.#readers) notify();
  }

  #write(rows: SegmentRow[], due: (() => void)[]): void {
    this.#stopTimer();
    this.#insert(rows, due);
    this.#taskFinished = false;
    this.#segments.written(this.seq + 1);
    this.#unwritten = [];
    this.#marks.written = this.seq;
  }

  #insert(rows: SegmentRow[], due: (() => void)[]): void {
    this.tables.flush(rows, due);
    this.#due = [];
  }

  /** Readers see what is written as soon as it is durable. */
  #publishWritten(): void {
    const seq = this.#marks.written;
    this.#syncing = this.sync().then(() => this.#publish(seq));
    this.#syncing.catch((error: unknown) => this.#lost(error));
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #lost(error: unknown): void {
    logError(error, { while: "writing a thread's log" });
    this.restart();
  }

  /** Schedules the write of pending events within this many milliseconds. */
  #plan(within: number): void {
    if (this.#segments.size > GATHER_SIZE) return this.flush();
    if (within === Infinity) return;
    const at = Date.now() + within;
    if (this.#timer !== undefined && this.#timerAt <= at) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.flush(), within);
  }

  #publish(seq: number): void {
    this.#marks.confirm(seq);
    this.notify();
  }
}

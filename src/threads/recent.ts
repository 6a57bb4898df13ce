/** The latest events of the log in memory: readers that follow need no statement, and share one text of an event. */
import type { EventMethod } from "./events.ts";

export interface RecentEvent {
  seq: number;
  run: string;
  method: EventMethod;
  /** What stands before `meta` and `data` in its line: an open JSON object. */
  head: string;
  /** JSON. */
  meta?: string;
  /** JSON. */
  data: string;
  /** `data` refers to what is kept elsewhere. */
  refs?: boolean;
  /** The line that readers get, once one has asked for it. */
  line?: string;
}

/** Characters of data and lines that one thread keeps. A reader further back reads the tables. */
const LIMIT = 2_000_000;
/** What all threads of this isolate keep together: its 128 MB are shared. Past it, each keeps its latest few. */
const LIMIT_OF_ALL = 16_000_000;
const LEAST = 100_000;
/** Events that one reading takes at most, so that a slow reader does not hold thousands of lines. */
const AT_ONCE = 512;

/** What all threads of this isolate keep now. */
let kept = 0;

export class Recent {
  #events: RecentEvent[] = [];
  #size = 0;

  /** Takes the next event of the log: sequence numbers come without gaps. */
  add(event: RecentEvent): void {
    this.#events.push(event);
    this.#grow(event.head.length + event.data.length);
  }

  /** The next events after `seq`, up to `last`; undefined when they are no longer all here. */
  after(seq: number, last: number): RecentEvent[] | undefined {
    const first = this.#events[0]?.seq;
    if (first === undefined || first > seq + 1) return undefined;
    const from = seq + 1 - first;
    return this.#events.slice(from, Math.min(from + AT_ONCE, last + 1 - first));
  }

  /** The event's line; `made` makes it the first time. */
  line(event: RecentEvent, made: () => string): string {
    if (event.line !== undefined) return event.line;
    event.line = made();
    // An event that has left since is not counted any more.
    if (event.seq >= (this.#events[0]?.seq ?? Infinity)) this.#grow(event.line.length);
    return event.line;
  }

  /** Forgets the events after `seq`: their commit failed. */
  dropAfter(seq: number): void {
    this.#keep(this.#events.filter((event) => event.seq <= seq));
  }

  /** Forgets everything: the tables no longer say the same, or the thread is gone. */
  forget(): void {
    this.#keep([]);
  }

  #grow(size: number): void {
    this.#size += size;
    kept += size;
    const most = kept > LIMIT_OF_ALL ? LEAST : LIMIT;
    if (this.#size <= most) return;
    let left = this.#size;
    const from = this.#events.findIndex((event, i) => {
      if (left <= most / 2 || i === this.#events.length - 1) return true;
      left -= sizeOf(event);
      return false;
    });
    this.#keep(this.#events.slice(from));
  }

  #keep(events: RecentEvent[]): void {
    const size = events.reduce((sum, event) => sum + sizeOf(event), 0);
    kept += size - this.#size;
    this.#size = size;
    this.#events = events;
  }
}

function sizeOf({ head, data, line = "" }: RecentEvent): number {
  return head.length + data.length + line.length;
}

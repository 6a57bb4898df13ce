/** The latest events of the log in memory: who follows needs no statement, and all readers share one text of an event. */
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

/** Characters of data and lines that are kept; a reader further back reads the tables. */
const LIMIT = 2_000_000;
/** Events that one reading takes at most, so that a slow reader does not hold thousands of lines. */
const AT_ONCE = 512;

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
    this.#grow(event.line.length);
    return event.line;
  }

  /** Lets go of everything: the tables no longer say the same. */
  forget(): void {
    this.#events = [];
    this.#size = 0;
  }

  #grow(size: number): void {
    this.#size += size;
    if (this.#size <= LIMIT) return;
    let gone = 0;
    for (; gone < this.#events.length - 1 && this.#size > LIMIT / 2; gone += 1) {
      const { head, data, line = "" } = this.#events[gone] as RecentEvent;
      this.#size -= head.length + data.length + line.length;
    }
    this.#events = this.#events.slice(gone);
  }
}

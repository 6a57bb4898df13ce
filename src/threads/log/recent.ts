/** The latest events of the log in memory: readers that follow need no statement, and share one text of an event. */
import type { EventText } from "./events.ts";

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
    this.#grow(sizeOf(event));
  }

  /** The next events after `seq`, up to `last`; undefined when they are no longer all here. */
  after(seq: number, last: number): RecentEvent[] | undefined {
    const first = this.#events[0]?.seq;
    if (first === undefined || first > seq + 1) return undefined;
    const from = seq + 1 - first;
    return this.#events.slice(from, Math.min(from + AT_ONCE, last + 1 - first));
  }

  /** The event with its whole data; `expand` puts in what the data refers to, the first time. */
  text(event: RecentEvent, expand: (data: string) => string): string {
    if (!event.refs) return event.data;
    if (event.whole !== undefined) return event.whole;
    event.whole = expand(event.data);
    // A removed event is no longer counted.
    if (event.seq >= (this.#events[0]?.seq ?? Infinity)) this.#grow(event.whole.length);
    return event.whole;
  }

  /** Removes the events after `seq`: their commit failed. */
  dropAfter(seq: number): void {
    this.#keep(this.#events.filter((event) => event.seq <= seq));
  }

  /** Clears the cache: the tables have changed, or the thread is deleted. */
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

/** About how many characters an event holds in memory. */
function sizeOf({ data, meta = "", whole = "" }: RecentEvent): number {
  return 200 + data.length + meta.length + whole.length;
}

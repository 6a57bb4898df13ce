/** The latest events of the log in memory: readers that follow need no statement, and share one text of an event. */
import { SizedCache } from "../../lib/cache.ts";
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
/** Events that one reading takes at most, so that a slow reader does not hold thousands of lines. */
export const EVENTS_AT_ONCE = 512;

/**
 * What all threads of this isolate keep. It belongs to none of them: nothing runs when an object is evicted, and what such
 * an object kept is evicted from here as soon as others need the room.
 */
const kept = new SizedCache<Recent, Kept>(16_000_000);

interface Kept {
  events: RecentEvent[];
  size: number;
}

export class Recent {
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

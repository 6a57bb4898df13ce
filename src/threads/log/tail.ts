/** Readers of the log: stored events in order, then new events. */
import { type EventText, type Framing, PING, restMark, type TailQuery } from "./events.ts";
import { unfoldCuts } from "./compact.ts";
import type { EventLog } from "./event-log.ts";
import type { StoredEvent } from "./segments.ts";
import type { EventsRow } from "../store/statements.ts";
import type { Tables } from "../store/tables.ts";
import type { Json } from "../../lib/json.ts";
import { staysAfterDeletion, withoutError } from "./erase.ts";
import type { ValueRefs, ValueStore } from "./values.ts";

export interface TailSource {
  tables: Tables;
  eventLog: EventLog;
  values: ValueStore;
  /** Whether everything about this run has been written and made known. */
  settled(runId: string): boolean;
  /** Whether no run is in progress. */
  resting(): boolean;
  /** Whether the event is of a run that is deleted. */
  isOfDeletedRun(event: Pick<EventText, "run" | "seq">): boolean;
}

/** Characters that a reader takes at once. A longer text is sent in pieces of this length. */
const AT_ONCE = 256_000;
/** Milliseconds between two pings. */
const PING_MS = 15_000;
/** Milliseconds after which a stream ends when no run is in progress. */
const REST_MS = 1_000;
/** Rows of the log that are searched before others get their turn. */
const ROWS_AT_ONCE = 64;

/**
 * The log as bytes in a framing. A reader that leaves changes nothing: its Worker may only be restarting. `inside`: it is in the object
 * itself, gets no pings, and does not keep the object from hibernating.
 */
export function tail(
  source: TailSource,
  query: TailQuery,
  framing: Framing,
  inside = false,
): ReadableStream<Uint8Array> {
  const { eventLog } = source;
  const encoder = new TextEncoder();
  let cursor = query.after;
  /** What has been read and not yet been handed out. */
  let text = "";
  let wake: (() => void) | undefined;
  let left = false;
  const unfollow = eventLog.follow(() => wake?.());
  const ended = () => (query.replayOnly ? true : query.runId !== undefined && source.settled(query.runId));
  const leave = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    unfollow();
    controller.close();
  };
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        if (text !== "") {
          const cut = findCut(text);
          controller.enqueue(encoder.encode(text.slice(0, cut)));
          text = text.slice(cut);
          return;
        }
        if (eventLog.ended) return leave(controller);
        // Asked before reading: what was written before it was settled is then surely read.
        const over = ended();
        const next = read(source, cursor, query, framing);
        cursor = next.last;
        text = next.text;
        if (left) return;
        if (text !== "") continue;
        if (cursor < eventLog.visible) {
          await new Promise((resolve) => setTimeout(resolve, 0));
          continue;
        }
        if (over) return leave(controller);
        const rests = source.resting();
        const ms = inside ? Infinity : rests ? REST_MS : PING_MS;
        if (await waitForWake(ms, (resolve) => (wake = resolve))) continue;
        if (!rests) return controller.enqueue(Uint8Array.of(PING));
        controller.enqueue(restMark(eventLog.visible));
        return leave(controller);
      }
    },
    cancel() {
      left = true;
      unfollow();
      wake?.();
    },
  });
}

/** Whether the callback of `listen` is called within this many milliseconds. */
async function waitForWake(ms: number, listen: (wake: () => void) => void): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = ms === Infinity ? undefined : setTimeout(() => resolve(false), ms);
    listen(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}

/** Where to cut a text for one chunk: between two characters, for half of a surrogate pair has no UTF-8. */
function findCut(text: string): number {
  const code = text.charCodeAt(AT_ONCE - 1);
  return code >= 0xd800 && code <= 0xdbff ? AT_ONCE - 1 : AT_ONCE;
}

/** The next events after `cursor` that match the query, framed, and the cursor after them. */
function read(source: TailSource, cursor: number, query: TailQuery, framing: Framing): { text: string; last: number } {
  const { tables, values } = source;
  const { visible, recent } = source.eventLog;
  let text = "";
  let last = cursor;
  const isWanted = (event: Pick<EventText, "seq" | "ns" | "run" | "method">) =>
    (query.runId === undefined || event.run === query.runId) &&
    (query.methods?.includes(event.method) ?? true) &&
    (staysAfterDeletion(event) || !source.isOfDeletedRun(event));
  /** Takes one event; false when it is enough. */
  const take = (event: Pick<EventText, "seq" | "ns" | "run" | "method">, whole: () => EventText): boolean => {
    if (event.seq > last && event.seq <= visible) {
      last = event.seq;
      if (isWanted(event)) text += framing(source.isOfDeletedRun(event) ? erased(whole()) : whole());
    }
    return text.length < AT_ONCE;
  };
  const expand = (data: string) => expandValues(JSON.parse(data) as Json, values);
  const latest = source.eventLog.inMemory(cursor);
  if (latest) {
    latest.every((event) => take(event, () => ({ ...event, text: () => recent.text(event, expand) })));
    return { text, last };
  }
  const { stored } = source.eventLog;
  let rows = 0;
  for (const row of tables.eventsAfter(cursor)) {
    const events = (JSON.parse(row.events) as StoredEvent[]).filter(isWanted);
    for (const event of unfoldCuts(events, cursor, query.seen ?? 0)) {
      if (!take(event, () => storedText(event, row, values))) return { text, last };
    }
    last = Math.min(row.last_seq, visible);
    if ((rows += 1) >= ROWS_AT_ONCE) return { text, last };
  }
  // The numbers of tokens that were lost with their process have no row.
  return { text, last: Math.max(last, stored) };
}

/** What readers get of an event that stays of a deleted run. */
function erased(event: EventText): EventText {
  return { ...event, text: () => JSON.stringify(withoutError(JSON.parse(event.text()) as Json)) };
}

function storedText({ meta, data, refs, ...event }: StoredEvent, row: EventsRow, values: ValueStore): EventText {
  return {
    ...event,
    meta: meta === undefined ? undefined : JSON.stringify((JSON.parse(row.metas) as unknown[])[meta]),
    text: () => (refs ? expandValues(data ?? {}, values) : JSON.stringify(data)),
  };
}

/** The event's data with what it refers to put back in, as JSON. */
function expandValues(data: Json, values: ValueStore): string {
  if (typeof data.$b === "string") return values.readBlob(data.$b);
  if ("$x" in data) return values.flat(data.$x as ValueRefs[string]);
  const state = values.flatAll(data.$v as ValueRefs);
  if ("$i" in data) return `${state.slice(0, -1)}${state === "{}" ? "" : ","}${JSON.stringify(data.$i).slice(1)}`;
  if (!("$t" in data)) return state;
  return `${JSON.stringify(data.$t).slice(0, -1)},"input":${state}}`;
}

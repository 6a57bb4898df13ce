/**
 * Token deltas of runs that have ended, added up: per block of a message, and per message of the classic streams, the last
 * delta stays and holds everything. Ids stay, so any cursor stays good; the log gets gaps, and a long thread replays fast.
 */
import { Accumulator } from "../../runtime/accumulate.ts";
import type { Json } from "../../json.ts";
import type { EventsRow, Tables } from "../storage/tables.ts";
import type { StoredEvent } from "./segments.ts";

/** The most characters of events in a pass, so that any events fit in memory. */
const PASS = 4_000_000;
/** A sum longer than this stays in its parts: a row has its limit. */
const LONGEST = 250_000;

/** What a pass over the log changes: the rows that get shorter, and how far it has come. */
export interface Pass {
  rows: Pick<EventsRow, "first_seq" | "n" | "events">[];
  through: number;
  more: boolean;
}

/** The next pass after the sequence number `after`, over events up to `visible`. It reads; the caller writes. */
export function nextPass(tables: Tables, after: number, visible: number): Pass {
  const read = rowsOfPass(tables, after, visible);
  const events = read.map((row) => JSON.parse(row.events) as StoredEvent[]);
  const sums = summed(events.flat());
  const rows = read.flatMap(({ first_seq, n }, i) => {
    const before = events[i] ?? [];
    const left = before.flatMap((event) => sums.get(event) ?? (sums.has(event) ? [] : [event]));
    return left.length < before.length ? [{ first_seq, n, events: JSON.stringify(left) }] : [];
  });
  const through = read.at(-1)?.last_seq ?? after;
  return { rows, through, more: read.length > 0 && through < visible };
}

function rowsOfPass(tables: Tables, after: number, visible: number): EventsRow[] {
  const rows: EventsRow[] = [];
  let size = 0;
  for (const row of tables.eventsAfter(after)) {
    if (row.last_seq > visible || size > PASS) break;
    rows.push(row);
    size += row.events.length;
  }
  return rows;
}

/** For each delta that is part of a sum: the event that replaces it, or undefined when it is removed. */
function summed(events: StoredEvent[]): Map<StoredEvent, StoredEvent | undefined> {
  const groups = new Map<string, StoredEvent[]>();
  for (const event of events) {
    const key = groupOf(event);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group) group.push(event);
    else groups.set(key, [event]);
  }
  const result = new Map<StoredEvent, StoredEvent | undefined>();
  for (const group of groups.values()) {
    const last = group.at(-1);
    if (!last || group.length < 2) continue;
    const data = last.method === "tuple" ? messageOf(group) : blockOf(group);
    if (JSON.stringify(data).length > LONGEST) continue;
    for (const event of group) result.set(event, event === last ? { ...last, data } : undefined);
  }
  return result;
}

/**
 * Deltas with the same key are merged. Undefined for other events, and for events stored separately because of their
 * size.
 */
function groupOf({ run, method, ns, node, refs, data }: StoredEvent): string | undefined {
  if (data === null || refs) return undefined;
  if (method === "tuple") {
    return data.type === "AIMessageChunk" && data.id ? JSON.stringify([run, ns, data.id]) : undefined;
  }
  if (method !== "messages" || data.event !== "content-block-delta") return undefined;
  return JSON.stringify([run, ns, node, data.run_id, data.index, (data.delta as Json).type]);
}

/** What the deltas append; a `block-delta` replaces, so the last one holds everything already. */
const APPENDED = ["text", "reasoning", "data"];

function blockOf(group: StoredEvent[]): Json {
  const data = group.at(-1)?.data ?? {};
  const deltas = group.map((event) => (event.data as { delta: Json }).delta);
  const delta = { ...deltas.at(-1) };
  for (const member of APPENDED) {
    if (typeof delta[member] === "string")
      delta[member] = deltas.map((one) => (one[member] as string | undefined) ?? "").join("");
  }
  return { ...data, delta };
}

function messageOf(group: StoredEvent[]): Json {
  const accumulator = new Accumulator();
  for (const { data } of group) accumulator.take(data as Json & { id: string });
  return accumulator.chunk(String(group[0]?.data?.id));
}

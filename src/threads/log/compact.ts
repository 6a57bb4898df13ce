/**
 * Token deltas of runs that have ended, added up: per block of a message, and per message of the classic streams, the last
 * delta stays and holds everything. Ids stay, so any cursor stays good; the log gets gaps, and a long thread replays fast.
 */
import { Accumulator } from "../../runtime/accumulate.ts";
import type { ThreadContext } from "../context.ts";
import type { ThreadRecord } from "../record.ts";
import type { Json } from "../../json.ts";
import type { EventsRow, Tables } from "../storage/tables.ts";

export interface StoredEvent {
  seq: number;
  run: string;
  method: string;
  ns: string[];
  node?: string;
  refs?: boolean;
  data: Json | null;
}

/** How long a thread must have been at rest: clients that lost their connection still find every token until then. */
const COMPACT_AFTER_MS = 10 * 60_000;
/** The number of deltas of a run from which merging them repays the alarm and the row writes. */
const WORTHWHILE = 10;
/** The most characters of events in a pass, so that any events fit in memory. */
const PASS = 4_000_000;
/** A sum longer than this stays in its parts: a row has its limit. */
const LONGEST = 250_000;

/** How far a thread is compacted, and when to continue, after a run with this many deltas. */
export function compactLater({ compacted }: ThreadRecord, deltas: number, now: number): ThreadRecord["compacted"] {
  const { through = 0, due } = compacted ?? {};
  return deltas > WORTHWHILE || due !== undefined ? { through, due: now + COMPACT_AFTER_MS } : compacted;
}

/** Compacts the next part of the log. The record says how far it has come, and whether there is more to do. */
export function compact(context: ThreadContext): void {
  const { tables, eventLog, record } = context;
  if (!record) return;
  const after = record.compacted?.through ?? 0;
  const rows = rowsOfPass(tables, after, eventLog.visible);
  const events = rows.map((row) => JSON.parse(row.events) as StoredEvent[]);
  const sums = summed(events.flat());
  const through = rows.at(-1)?.last_seq ?? after;
  const more = rows.length > 0 && through < eventLog.visible;
  const compacted = { ...record, compacted: { through, ...(more && { due: Date.now() }) } };
  tables.transaction(() => {
    for (const [i, row] of rows.entries()) {
      const before = events[i] ?? [];
      const left = before.flatMap((event) => sums.get(event) ?? (sums.has(event) ? [] : [event]));
      if (left.length < before.length) tables.setEvents(row.first_seq, row.n, JSON.stringify(left));
    }
    context.writeRecord(compacted);
  });
  context.keepRecord(compacted);
  eventLog.recent.forget();
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

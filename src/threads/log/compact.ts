/**
 * Token deltas of runs that have ended, merged. A stretch is what comes between two events of other kinds. In it the deltas
 * of each block, and the chunks of each message that differ in their text only, become one event with the number of the
 * last one and the whole text. `cuts` says which delta had which part, so that any cursor stays good. The log gets
 * gaps, and a long thread replays fast.
 */
import type { Json } from "../../lib/json.ts";
import type { StoredEvent } from "./segments.ts";
import { Accumulator } from "../../runtime/blocks.ts";
import { canonical } from "./emit.ts";
import type { EventsRow } from "../store/statements.ts";
import type { Tables } from "../store/tables.ts";

// Token deltas as compaction merges them and as readers get them again. A merged event holds the whole text, and `cuts`:
// which part of it each delta had. A reader gets the parts after its cursor, in the order of their sequence numbers, so that
// after each event it has exactly what the log has up to that number.

/** A place in an event's data, as the names of members. A text may be in several places at once. */
type Places = string[][];

/** Where the text of a delta is. A chunk's arguments are also in what LangChain makes of them. */
const TEXTS: Partial<Record<StoredEvent["method"], Places[]>> = {
  messages: [[["delta", "text"]], [["delta", "reasoning"]], [["delta", "data"]]],
  tuple: [
    [["content"]],
    [["content", "0", "text"]],
    [["content", "0", "reasoning"]],
    [["content", "0", "thinking"]],
    [["additional_kwargs", "reasoning_content"]],
    [
      ["tool_call_chunks", "0", "args"],
      ["invalid_tool_calls", "0", "args"],
    ],
  ],
};

/** A delta with one text. */
export interface TextDelta {
  text: string;
  places: Places;
}

/** The text of a delta; undefined when it has none or several, and is therefore not cut. */
export function readTextDelta({ method, data }: Pick<StoredEvent, "method" | "data">): TextDelta | undefined {
  const found = (TEXTS[method] ?? []).flatMap((places) => {
    const [text, ...others] = places.map((path) => path.reduce(member, data));
    return typeof text === "string" && text !== "" ? [{ text, places, same: others.every((one) => one === text) }] : [];
  });
  const [one, ...more] = found;
  return one?.same && more.length === 0 ? one : undefined;
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Json)[name] : undefined;
}

/** The delta's data with another text. */
export function withText(data: unknown, places: Places, text: string): Json {
  return places.reduce((whole, path) => replaceAt(whole, path, text), data) as Json;
}

function replaceAt(value: unknown, [name, ...rest]: string[], text: string): unknown {
  if (name === undefined) return text;
  if (Array.isArray(value)) return value.map((item, i) => (String(i) === name ? replaceAt(item, rest, text) : item));
  return { ...(value as Json), [name]: replaceAt((value as Json)[name], rest, text) };
}

/** For each delta the distance of its number from the one before (of the first: the number), and its text's length. */
export function encodeCuts(parts: readonly { seq: number; length: number }[]): number[] {
  return parts.flatMap(({ seq, length }, i) => [seq - (parts[i - 1]?.seq ?? 0), length]);
}

/** A part of an event. The event is whole without `to`. */
interface Part {
  event: StoredEvent;
  seq: number;
  from?: number;
  to?: number;
}

/**
 * The events of a row after the sequence number `after`, as readers get them. Consecutive parts of an event are one, except
 * that one part ends at the number `seen`.
 */
export function* unfoldCuts(events: Iterable<StoredEvent>, after: number, seen: number): Generator<StoredEvent> {
  let merged: Part[] = [];
  for (const event of events) {
    if (event.cuts) {
      merged.push(...splitEvent(event));
      continue;
    }
    yield* orderParts(merged, after, seen);
    merged = [];
    if (event.seq > after) yield event;
  }
  yield* orderParts(merged, after, seen);
}

function splitEvent(event: StoredEvent): Part[] {
  const { seq, cuts = [] } = event;
  if (cuts.length === 0) return [{ event, seq }];
  const parts: Part[] = [];
  let number = 0;
  let from = 0;
  for (let i = 0; i < cuts.length; i += 2) {
    number += cuts[i] ?? 0;
    const to = from + (cuts[i + 1] ?? 0);
    parts.push({ event, seq: number, from, to });
    from = to;
  }
  return parts;
}

/** Merged events that are beside each other in a row overlap: their parts are put in order. */
function* orderParts(parts: Part[], after: number, seen: number): Generator<StoredEvent> {
  const left = parts.filter(({ seq }) => seq > after).toSorted((a, b) => a.seq - b.seq);
  let open: Part | undefined;
  for (const part of left) {
    const continues = open?.event === part.event && !(open.seq <= seen && part.seq > seen);
    if (open && continues) open = { ...open, seq: part.seq, to: part.to };
    else {
      if (open) yield cutEvent(open);
      open = part;
    }
  }
  if (open) yield cutEvent(open);
}

function cutEvent({ event: { cuts: _cuts, ...event }, seq, from, to }: Part): StoredEvent {
  const delta = to === undefined ? undefined : readTextDelta(event);
  if (!delta || (from === 0 && to === delta.text.length)) return { ...event, seq };
  return { ...event, seq, data: withText(event.data, delta.places, delta.text.slice(from, to)) };
}

/** The most characters of events in a pass, so that any events fit in memory. */
const PASS = 4_000_000;
/** About the most characters of a merged stretch: it is kept in one row. */
const MAX_STRETCH = 250_000;

/** What a pass over the log changes: the rows that get shorter, and how far it has come. */
export interface CompactionPass {
  rows: EventsRow[];
  through: number;
  more: boolean;
}

/** An event of the pass, with the metadata that its row has for it, as JSON. */
type PassEvent = StoredEvent & { about?: string };

/** The next pass after the sequence number `after`, over events up to `visible`. It reads; the caller writes. */
export function nextPass(tables: Tables, after: number, visible: number): CompactionPass {
  const read = rowsOfPass(tables, after, visible);
  const events = read.map(eventsIn);
  const merged = new Map(splitStretches(events.flat()).flatMap(mergedIn));
  // Events that move to a later row are not before its number: readers skip what they have passed.
  let last_seq = after;
  const rows = read.flatMap(({ first_seq, n }, i) => {
    const before = events[i] ?? [];
    const left = before.flatMap((event) => merged.get(event) ?? [event]);
    last_seq = left.at(-1)?.seq ?? last_seq;
    return before.some((event) => merged.has(event)) ? [{ first_seq, n, last_seq, ...toEventsRow(left) }] : [];
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

/** The events of a row, each with its own metadata. */
export function eventsIn({ events, metas }: EventsRow): PassEvent[] {
  const abouts = (JSON.parse(metas) as unknown[]).map((meta) => JSON.stringify(meta));
  return (JSON.parse(events) as StoredEvent[]).map((event) =>
    event.meta === undefined ? event : { ...event, about: abouts[event.meta] },
  );
}

/** The columns of a row with these events. */
export function toEventsRow(left: PassEvent[]): Pick<EventsRow, "events" | "metas"> {
  const metas = [...new Set(left.flatMap(({ about }) => about ?? []))];
  const events = left.map(({ about, ...event }) =>
    about === undefined ? event : { ...event, meta: metas.indexOf(about) },
  );
  return { events: JSON.stringify(events), metas: `[${metas.join(",")}]` };
}

/** The message or the block of a token delta. Undefined for other events, and for deltas stored apart or merged already. */
function textOwner({ run, method, ns, node, refs, cuts, data }: StoredEvent): string | undefined {
  if (data === null || refs || cuts) return undefined;
  if (method === "tuple") return data.type === "AIMessageChunk" && data.id ? JSON.stringify([run, data.id]) : undefined;
  if (method !== "messages" || data.event !== "content-block-delta") return undefined;
  return JSON.stringify([run, ns, node, data.run_id, data.index, (data.delta as Json).type]);
}

/** Events of a stretch that become one. */
interface Group {
  shape: string;
  events: PassEvent[];
}

interface Stretch {
  events: PassEvent[];
  groups: Group[];
  /** The last group of each owner. */
  open: Map<string, Group>;
  /** About how many characters the groups take. */
  size: number;
}

function splitStretches(events: PassEvent[]): Stretch[] {
  const stretches: Stretch[] = [];
  let stretch: Stretch | undefined;
  for (const event of events) {
    const owner = textOwner(event);
    if (owner === undefined || (stretch && stretch.size > MAX_STRETCH)) stretch = undefined;
    if (owner === undefined) continue;
    if (!stretch) stretches.push((stretch = { events: [], groups: [], open: new Map(), size: 0 }));
    add(stretch, owner, event);
  }
  return stretches;
}

function add(stretch: Stretch, owner: string, event: PassEvent): void {
  const delta = readTextDelta(event);
  const shape = eventShape(event, delta);
  const open = stretch.open.get(owner);
  stretch.events.push(event);
  stretch.size += delta?.text.length ?? 0;
  // The first two of a group show it for all of them.
  if (open?.shape === shape && (open.events.length > 1 || addsUp(event, delta))) {
    open.events.push(event);
    return;
  }
  const group = { shape, events: [event] };
  stretch.groups.push(group);
  stretch.open.set(owner, group);
  stretch.size += shape.length;
}

/** What deltas of one group have in common: all but the text. A `block-delta` replaces the one before it. */
function eventShape({ ns, about, data }: PassEvent, delta: TextDelta | undefined): string {
  if (delta) return JSON.stringify([ns, about, delta.places, withText(data, delta.places, "")]);
  return replaces(data) ? "" : JSON.stringify(data);
}

const replaces = (data: Json | null): boolean => (data?.delta as Json | undefined)?.type === "block-delta";

/**
 * Whether a delta with two texts is the same as two deltas with one each. Clients add chunks up member by member, and
 * their other members may add up, too.
 */
function addsUp({ method, data }: PassEvent, delta: TextDelta | undefined): boolean {
  if (method === "messages") return delta !== undefined || replaces(data);
  if (!delta) return false;
  const addLengths = (...texts: string[]) => {
    const sum = new Accumulator();
    const chunks = texts.map((text) => withText(data, delta.places, text) as Json & { id: string });
    for (const chunk of chunks) sum.take(chunk);
    return canonical(sum.chunk(String(data?.id)));
  };
  return addLengths("a", "b") === addLengths("ab");
}

/** For each event of a stretch what takes its place; none when nothing is merged. */
function mergedIn({ events, groups }: Stretch): [PassEvent, PassEvent[]][] {
  if (groups.length === events.length) return [];
  const merged = groups.map(mergedGroup).toSorted((a, b) => a.seq - b.seq);
  return events.map((event, i) => [event, i === events.length - 1 ? merged : []]);
}

function mergedGroup({ events }: Group): PassEvent {
  const last = events.at(-1) as PassEvent;
  const delta = readTextDelta(last);
  if (!delta || events.length === 1) return { ...last, cuts: [] };
  const texts = events.map((event) => readTextDelta(event)?.text ?? "");
  const data = withText(last.data, delta.places, texts.join(""));
  return { ...last, data, cuts: encodeCuts(events.map(({ seq }, i) => ({ seq, length: texts[i]?.length ?? 0 }))) };
}

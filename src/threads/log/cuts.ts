/**
 * Token deltas as compaction merges them and as readers get them again. A merged event holds the whole text, and `cuts`:
 * which part of it each delta had. A reader gets the parts after its cursor, in the order of their sequence numbers, so that
 * after each event it has exactly what the log has up to that number.
 */
import type { Json } from "../../lib/json.ts";
import type { StoredEvent } from "./segments.ts";

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

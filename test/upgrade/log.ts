/** Digests of what a client receives, to compare the answers of two releases on the same state. */
import { createHash } from "node:crypto";
import type { SseEvent } from "../support/sse.ts";
import type { Api } from "../support/api.ts";

/** JSON with the members of every object sorted by name. */
function toCanonical(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

/** SHA-256 of a JSON value, independent of the order of members: the first 16 hex digits. */
export function digest(value: unknown): string {
  return createHash("sha256").update(toCanonical(value)).digest("hex").slice(0, 16);
}

/** The first events of a stream. */
export interface Seen {
  count: number;
  last_id: string;
  digest: string;
}

/** The digest of events with their ids, names and data. */
export function summarizeEvents(events: SseEvent[]): Seen {
  return { count: events.length, last_id: events.at(-1)?.id ?? "", digest: digest(events) };
}

/** The digest of a log that is the same before and after compaction: token deltas count by their joined text. */
export interface Folded {
  /** The number of events without token deltas. */
  count: number;
  digest: string;
  /** The digest of the joined texts, by message. */
  texts: string;
}

interface Protocol {
  method: string;
  params: { namespace: string[]; node?: string; data: Record<string, unknown> };
}

/** The message and the text of a token delta. Undefined for any other event. */
function readDelta({ event, data }: SseEvent): { message: string; text: string } | undefined {
  if (event.startsWith("messages") && Array.isArray(data)) {
    const chunk = data[0] as { type?: string; id?: string; content?: unknown };
    if (chunk.type !== "AIMessageChunk") return undefined;
    return { message: `${event} ${chunk.id}`, text: typeof chunk.content === "string" ? chunk.content : "" };
  }
  const { method, params } = data as Protocol;
  if (method !== "messages" || params.data.event !== "content-block-delta") return undefined;
  const { delta, index, run_id } = params.data as { delta: Record<string, unknown>; index: number; run_id?: string };
  const text = [delta.text, delta.reasoning].find((one) => typeof one === "string");
  return { message: toCanonical([params.namespace, params.node, run_id, index, delta.type]), text: text ?? "" };
}

export function foldEvents(events: SseEvent[]): Folded {
  const texts: Record<string, string> = {};
  const rest = events.filter((event) => {
    const delta = readDelta(event);
    if (delta) texts[delta.message] = (texts[delta.message] ?? "") + delta.text;
    return delta === undefined;
  });
  return { count: rest.length, digest: digest(rest), texts: digest(texts) };
}

const CHANNELS = ["values", "checkpoints", "updates", "messages", "tools", "lifecycle", "input", "tasks", "custom"];
const ENDS = ["completed", "failed", "interrupted"];

/** The events of the streaming protocol from the start of the thread to the end of its run `last`. */
export async function protocolLog(api: Api, thread: string, last: string): Promise<SseEvent[]> {
  const events: SseEvent[] = [];
  for await (const event of api.events("POST", `/threads/${thread}/stream/events`, { channels: CHANNELS })) {
    events.push(event);
    const [, kind] = /\|\|(\w+)\|\d+$/.exec((event.data as { event_id: string }).event_id) ?? [];
    const ended = kind !== undefined && ENDS.includes(kind);
    if (ended && (event.data as { event_id: string }).event_id.startsWith(`synth:${last}:`)) break;
  }
  return events;
}

/** The classic stream of a run from `lastEventId`, exclusive, to the end. */
export async function classicLog(api: Api, thread: string, run: string, lastEventId = "-1"): Promise<SseEvent[]> {
  const path = `/threads/${thread}/runs/${run}/stream`;
  const events: SseEvent[] = [];
  for await (const event of api.events("GET", path, undefined, { "last-event-id": lastEventId })) events.push(event);
  return events;
}

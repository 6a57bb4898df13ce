/** Server-Sent Events framing (WHATWG HTML, section 9.2). */
import { guardStream, type ByteSource, toSource, type WatchedClient } from "../lib/streams.ts";

export interface SseFrame {
  event?: string;
  /** Already serialised: one line of JSON. */
  data: string;
  id?: string;
}

/** Line breaks of Unicode that JSON leaves as they are. SSE has no such line breaks, but Python's `splitlines()` has. */
const SEPARATORS = /[\u0085\u2028\u2029]/g;
const escapeCharacter = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** JSON without line breaks of Unicode. */
export const escapeLines = (json: string): string => json.replace(SEPARATORS, escapeCharacter);

export const EVENT_STREAM = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/**
 * One frame. `event` and `id` must hold no line break. In `data` the Unicode line breaks are escaped: a client that reads
 * lines as Python does would take the text after one for a field of the frame, which a message's author could choose.
 */
export function sseFrame({ event, data, id }: SseFrame): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${escapeLines(data)}\n${id === undefined ? "" : `id: ${id}\n`}\n`;
}

const encoder = new TextEncoder();
const HEARTBEAT = encoder.encode(": heartbeat\n\n");

/**
 * A streaming answer made of `frames`, with a heartbeat comment while there is no output.
 * When the client leaves, `frames.return()` runs, so that the producer can stop.
 */
export function sseResponse(
  frames: AsyncIterator<string>,
  headers?: Record<string, string>,
  client?: WatchedClient,
): Response {
  const next = async () => {
    const { done, value } = await frames.next();
    return done ? undefined : encoder.encode(value);
  };
  return eventStream({ next, leave: async () => frames.return?.() }, headers, client);
}

/** Sends bytes that are already SSE frames, in chunks of any size. */
export function sseBytes(
  frames: ReadableStream<Uint8Array>,
  headers?: Record<string, string>,
  client?: WatchedClient,
): Response {
  return eventStream(toSource(frames), headers, client);
}

function eventStream(source: ByteSource, headers: Record<string, string> = {}, client?: WatchedClient): Response {
  return new Response(guardStream(source, HEARTBEAT, { client }), {
    headers: { ...EVENT_STREAM, ...headers },
  });
}

export const isEventStream = ({ headers, body }: Response): boolean =>
  body !== null && Boolean(headers.get("content-type")?.startsWith("text/event-stream"));

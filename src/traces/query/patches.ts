/**
 * A page as a stream of JSON Patch operations (RFC 6902) on its document, which the clients read with `streaming.queryItems`:
 * first an empty page, then each item, then the cursor. The data of an event is a list of operations.
 */
import type { Context } from "hono";
import { type Blobs, openBlobs } from "../../access/encryption/blobs.ts";
import { accepts } from "hono/accepts";
import { jsonStream } from "../../http/json-stream.ts";
import { EVENT_STREAM, escapeLines, sseFrame } from "../../http/sse.ts";
import type { App } from "../../http/context.ts";
import { streamJson, runsAnswer } from "./responses.ts";

/** A page of runs, traces or threads. `next_cursor` is null on the last one. */
export interface Page {
  items: object[];
  next_cursor: string | null;
  has_more?: boolean;
  complete?: boolean;
}

const JSON_TYPE = "application/json";
const STREAM = "text/event-stream";

/** The page as JSON, or as patches for a client that accepts only these. */
export function pageAnswer(c: Context<App>, page: Page): Response {
  const type = accepts(c, { header: "Accept", supports: [JSON_TYPE, STREAM], default: JSON_TYPE });
  return type === STREAM
    ? jsonStream(patches(openBlobs(c.env), page), EVENT_STREAM)
    : runsAnswer(openBlobs(c.env), page);
}

async function* patches(blobs: Blobs, { items, next_cursor, ...page }: Page): AsyncGenerator<Uint8Array, void, void> {
  const encoder = new TextEncoder();
  const frame = (value: object) => encoder.encode(sseFrame({ event: "data", data: JSON.stringify(value) }));
  yield frame([{ op: "add", path: "", value: { ...page, items: [], next_cursor: null } }]);
  for (const value of items) {
    yield encoder.encode("event: data\ndata: ");
    yield* oneLine(streamJson(blobs, [{ op: "add", path: "/items/-", value }]));
    yield encoder.encode("\n\n");
  }
  yield frame([{ op: "replace", path: "/next_cursor", value: next_cursor }]);
  yield encoder.encode(sseFrame({ event: "end", data: "{}" }));
}

/** JSON in one line, as an event needs it. A payload is as its sender formatted it. */
async function* oneLine(json: AsyncGenerator<Uint8Array, void, void>): AsyncGenerator<Uint8Array, void, void> {
  const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
  // A line break in JSON is between two tokens.
  const cleaned = (text: string) => encoder.encode(escapeLines(text.replace(/[\r\n]/g, " ")));
  for await (const bytes of json) yield cleaned(decoder.decode(bytes, { stream: true }));
  yield cleaned(decoder.decode());
}

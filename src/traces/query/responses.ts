/**
 * JSON answers that stream large payloads from R2. The payloads of one run can be 60 MB, and as values they take several times
 * as much memory.
 */
import {
  type SealedBlobs as StoredBlobs,
  type SealedBlobs as StoredBlobs_,
  openSealedBlobs,
} from "../../access/encryption/blobs.ts";
import { jsonStream } from "../../http/json-stream.ts";
import type { LargeField, RunPosition } from "../types.ts";
import type { Context } from "hono";
import { accepts } from "hono/accepts";
import { EVENT_STREAM, escapeLines, sseFrame } from "../../http/sse.ts";
import type { App } from "../../http/context.ts";
import * as v from "valibot";
import { parseJson } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import type { RankPosition } from "../rpc.ts";

let mark: string | undefined;

/**
 * Marks the place of a payload in an answer. It is random and never sent, so a payload cannot contain it. The platform allows
 * no random values before the first request.
 */
function placeholderMark(): string {
  return (mark ??= crypto.randomUUID());
}

/** A placeholder for the payload with this R2 key: JSON text, or plain text for `error`. */
export function placeholder(field: LargeField, key: string): string {
  return field === "error" ? `${placeholderMark()}text:${key}` : JSON.stringify(`${placeholderMark()}json:${key}`);
}

type BlobReader = Pick<StoredBlobs, "get">;

/** The value as a JSON answer. Placeholders are replaced by payloads, or by null for a missing payload. */
export function runsResponse(blobs: BlobReader, value: object): Response {
  const headers = { "content-type": "application/json" };
  const pieces = splitAtMarks(value);
  if (pieces.length === 1) return new Response(pieces[0], { headers });
  return jsonStream(writePieces(blobs, pieces));
}

export function streamJson(blobs: BlobReader, value: object): AsyncGenerator<Uint8Array, void, void> {
  return writePieces(blobs, splitAtMarks(value));
}

/** The text of a payload of a run, which can be in R2. Undefined when it is longer than `most` bytes there. */
export async function payloadText(blobs: BlobReader, payload: string, most: number): Promise<string | undefined> {
  const [, key] = new RegExp(`^"${placeholderMark()}json:([^"]+)"$`).exec(payload) ?? [];
  if (key === undefined) return payload;
  const object = await blobs.get(key);
  if (!object) return "null";
  if (object.size <= most) return object.text();
  await object.body.cancel();
  return undefined;
}

function splitAtMarks(value: object): string[] {
  return JSON.stringify(value).split(new RegExp(`"${placeholderMark()}(json|text):([^"]+)"`));
}

/** `pieces` repeats text, kind and key. It ends with text. */
async function* writePieces(blobs: BlobReader, pieces: string[]): AsyncGenerator<Uint8Array, void, void> {
  const encoder = new TextEncoder();
  for (let i = 0; i < pieces.length; i += 3) {
    yield encoder.encode(pieces[i]);
    const [kind, key] = [pieces[i + 1], pieces[i + 2]];
    if (key === undefined) return;
    const object = await blobs.get(key);
    if (!object) yield encoder.encode("null");
    else if (kind === "json") yield* object.body;
    else {
      yield encoder.encode('"');
      for await (const chunk of object.body) yield escapeChunk(chunk);
      yield encoder.encode('"');
    }
  }
}

/** Escapes UTF-8 text for a JSON string. All escaped characters are ASCII, so chunks can be escaped separately. */
function escapeChunk(chunk: Uint8Array): Uint8Array {
  const isPlain = chunk.every((byte) => byte >= 0x20 && byte !== 0x22 && byte !== 0x5c);
  if (isPlain) return chunk;
  // Latin-1 maps each byte to one character.
  return Buffer.from(JSON.stringify(Buffer.from(chunk).toString("latin1")).slice(1, -1), "latin1");
}

// A page as a stream of JSON Patch operations (RFC 6902) on its document, which the clients read with `streaming.queryItems`:
// first an empty page, then each item, then the cursor. The data of an event is a list of operations.

/** A page of runs, traces or threads. `next_cursor` is null on the last one. */
export interface ResponsePage {
  items: object[];
  next_cursor: string | null;
  has_more?: boolean;
  complete?: boolean;
}

const JSON_TYPE = "application/json";
const STREAM = "text/event-stream";

/** The page as JSON, or as patches for a client that accepts only these. */
export function pageResponse(c: Context<App>, page: ResponsePage): Response {
  const type = accepts(c, { header: "Accept", supports: [JSON_TYPE, STREAM], default: JSON_TYPE });
  return type === STREAM
    ? jsonStream(patches(openSealedBlobs(c.env), page), EVENT_STREAM)
    : runsResponse(openSealedBlobs(c.env), page);
}

async function* patches(
  blobs: StoredBlobs_,
  { items, next_cursor, ...page }: ResponsePage,
): AsyncGenerator<Uint8Array, void, void> {
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

// Where a page ended, as the opaque text that clients send back.

const Position = v.tuple([v.pipe(v.number(), v.integer()), v.pipe(v.string(), v.maxLength(40))]);

const encode = (cursor: unknown[]) => Buffer.from(JSON.stringify(cursor)).toString("base64url");
const invalid = () => new Problem(422, "Invalid cursor: send the one from the page before, unchanged.");

function decode<S extends v.GenericSchema>(schema: S, text: string): v.InferOutput<S> {
  const result = v.safeParse(schema, parseJson(Buffer.from(text, "base64url").toString()));
  if (!result.success) throw invalid();
  return result.output;
}

export function writeCursor(position: RunPosition | null): string | null {
  return position && encode([position.start_time, position.id]);
}

/** Parses a cursor; null without one. 422 for an invalid cursor. */
export function readCursor(text: string | null | undefined): RunPosition | null {
  if (!text) return null;
  const [start_time, id] = decode(Position, text);
  return { start_time, id };
}

const Ranked = v.tuple([v.string(), v.nullable(v.number()), v.pipe(v.string(), v.maxLength(40))]);

/** `by`: the figure by which the page is sorted, and in which order. */
export function writeRankCursor(by: string, position: RankPosition | null): string | null {
  return position && encode([by, position.figure, position.id]);
}

/** 422 for the cursor of another order, too. */
export function readRankCursor(by: string, text: string | undefined): RankPosition | null {
  if (!text) return null;
  const [order, figure, id] = decode(Ranked, text);
  if (order !== by) throw invalid();
  return { figure, id };
}

// Threads by their first turn: the beginning of the window, which would otherwise move from page to page, and the last thread of the page.

export interface ThreadPosition {
  /** Microseconds. */
  from: number;
  minStart: string;
  id: string;
}

const ThreadCursor = v.tuple([v.pipe(v.number(), v.integer()), v.string(), v.pipe(v.string(), v.maxLength(500))]);

export const writeThreadCursor = ({ from, minStart, id }: ThreadPosition): string => encode([from, minStart, id]);

/** Undefined without a cursor. 422 for an invalid one. */
export function readThreadCursor(text: string | null | undefined): ThreadPosition | undefined {
  if (!text) return undefined;
  const [from, minStart, id] = decode(ThreadCursor, text);
  return { from, minStart, id };
}

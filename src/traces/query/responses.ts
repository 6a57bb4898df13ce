/**
 * JSON answers that stream large payloads from R2. The payloads of one run can be 60 MB, and as values they take several times
 * as much memory.
 */
import type { Blobs as StoredBlobs } from "../../access/encryption/blobs.ts";
import { jsonStream } from "../../http/json-stream.ts";
import type { LargeField } from "../types.ts";

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

type Blobs = Pick<StoredBlobs, "get">;

/** The value as a JSON answer. Placeholders are replaced by payloads, or by null for a missing payload. */
export function runsAnswer(blobs: Blobs, value: object): Response {
  const headers = { "content-type": "application/json" };
  const pieces = splitAtMarks(value);
  if (pieces.length === 1) return new Response(pieces[0], { headers });
  return jsonStream(writePieces(blobs, pieces));
}

export function streamJson(blobs: Blobs, value: object): AsyncGenerator<Uint8Array, void, void> {
  return writePieces(blobs, splitAtMarks(value));
}

/** The text of a payload of a run, which can be in R2. Undefined when it is longer than `most` bytes there. */
export async function payloadText(blobs: Blobs, payload: string, most: number): Promise<string | undefined> {
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
async function* writePieces(blobs: Blobs, pieces: string[]): AsyncGenerator<Uint8Array, void, void> {
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

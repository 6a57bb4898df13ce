/**
 * Answers in JSON whose large payloads stay in R2 until they are sent. As values in memory, the payloads of one run could
 * take several times the 128 MB of an isolate; as a stream they take a few kilobytes.
 */
import type { LargeField } from "../rpc.ts";

/** Marks the place of a payload in the text of an answer. It is random and never sent, so that no payload can imitate it. */
const MARK = crypto.randomUUID();
const PLACES = new RegExp(`"${MARK}(json|text):([^"]+)"`);

/** The JSON text that stands for the payload of this field under this key until it is sent. An error is no JSON. */
export function placeholder(field: LargeField, key: string): string {
  return field === "error" ? `${MARK}text:${key}` : JSON.stringify(`${MARK}json:${key}`);
}

/** The value as an answer, with the payloads in the places of their placeholders; null for one that is gone. */
export function answer(blobs: Pick<R2Bucket, "get">, value: object): Response {
  const headers = { "content-type": "application/json" };
  const pieces = JSON.stringify(value).split(PLACES);
  if (pieces.length === 1) return new Response(pieces[0], { headers });
  const chunks = written(blobs, pieces);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await chunks.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await chunks.return();
    },
  });
  return new Response(body, { headers });
}

/** `pieces`: text, kind and key of a payload, text, and so on. */
async function* written(blobs: Pick<R2Bucket, "get">, pieces: string[]): AsyncGenerator<Uint8Array, void, void> {
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
      for await (const chunk of object.body) yield escaped(chunk);
      yield encoder.encode('"');
    }
  }
}

/** Bytes of text as they stand in a JSON string. All that has to be escaped is ASCII. */
function escaped(chunk: Uint8Array): Uint8Array {
  const isPlain = chunk.every((byte) => byte >= 0x20 && byte !== 0x22 && byte !== 0x5c);
  if (isPlain) return chunk;
  // Latin-1 keeps each byte as it is.
  return Buffer.from(JSON.stringify(Buffer.from(chunk).toString("latin1")).slice(1, -1), "latin1");
}

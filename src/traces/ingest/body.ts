/** A request's body as decoded chunks, whatever its Content-Encoding, never larger than a limit. */
import { Readable } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import { Problem } from "../../http/problem.ts";

/** Decoded bytes of one ingest request. /info asks the SDKs to stay under half of it. */
const LIMIT = 40 * 1024 * 1024;

const CHUNK = 128 * 1024;

/** The body's decoded chunks. 413 past `LIMIT` decoded bytes, 415 for an unknown encoding, 400 for a damaged one. */
export async function* decodedBody(request: Request): AsyncGenerator<Uint8Array> {
  if (!request.body) return;
  const encoding = (request.headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  let size = 0;
  const chunks = decode(request.body, encoding)[Symbol.asyncIterator]();
  for (;;) {
    const chunk = await nextChunk(chunks, encoding);
    if (!chunk) return;
    size += chunk.byteLength;
    if (size > LIMIT) {
      await chunks.return?.();
      throw new Problem(413, `The decoded request body is larger than ${LIMIT} bytes. Send fewer runs at a time.`);
    }
    yield chunk;
  }
}

async function nextChunk(chunks: AsyncIterator<Uint8Array>, encoding: string): Promise<Uint8Array | undefined> {
  try {
    const next = await chunks.next();
    return next.done ? undefined : next.value;
  } catch {
    throw new Problem(400, `The request body ended early or is not valid ${encoding}.`);
  }
}

function decode(body: ReadableStream<Uint8Array>, encoding: string): AsyncIterable<Uint8Array> {
  switch (encoding) {
    case "identity":
      return inLargeChunks(body);
    case "gzip":
    case "x-gzip":
      return inLargeChunks(body.pipeThrough(new DecompressionStream("gzip")));
    case "zstd":
      return Readable.from(body).compose(createZstdDecompress());
    default:
      throw new Problem(415, "Send the body with Content-Encoding gzip, zstd or none.");
  }
}

/** The platform's streams give some kilobytes at a time, and each is a turn of the event loop. */
async function* inLargeChunks(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader({ mode: "byob" });
  try {
    for (;;) {
      const { value, done } = await reader.readAtLeast(CHUNK, new Uint8Array(CHUNK));
      if (value && value.byteLength > 0) yield value;
      if (done) return;
    }
  } finally {
    // Whoever stops early wants no more of it.
    await reader.cancel().catch(() => undefined);
  }
}

/** The whole decoded body. */
export async function wholeBody(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of decodedBody(request)) chunks.push(chunk);
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
}

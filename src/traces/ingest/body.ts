/** A request's body as decoded chunks for any Content-Encoding, never larger than a limit. */
import { Readable } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import type { Context } from "hono";
import { MemoryBudget, type MemoryReservation } from "../../lib/bytes.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";

/** The most decoded bytes of a multipart request. It is stored in pieces while it arrives. */
const BODY_BYTES = 40 * 1024 * 1024;
/** The most decoded bytes of a body that is read as a whole. /info announces this limit to the SDKs. */
export const WHOLE_BYTES = 20 * 1024 * 1024;

/**
 * The memory budget of all ingest requests of an isolate. The oldest request may exceed it and holds up to 28 MB: a part or a
 * body of 20 MB, and runs that wait to be stored. The total is at most 44 MB of the isolate's 128 MB. Ordinary batches of a
 * few hundred kilobytes do not wait.
 */
const ingestBudget = new MemoryBudget(16 * 1024 * 1024);

const CHUNK = 128 * 1024;
const ENCODINGS = new Set(["identity", "gzip", "x-gzip", "zstd"]);

/**
 * A decoded body of more than `FREE_BYTES` may be `RATIO` times as large as it was sent. Runs that repeat long prompts
 * compress to one hundredth; gzip reaches a thousandth with a body made for it.
 */
const RATIO = 200;
const FREE_BYTES = 4 * 1024 * 1024;

/** Runs `work` with a claim on the memory budget of ingest. */
export async function withReservation<T>(
  c: Context<App>,
  work: (reservation: MemoryReservation) => Promise<T>,
): Promise<T> {
  const reservation = ingestBudget.reserve();
  const working = work(reservation).finally(() => reservation.release());
  // Without waitUntil the platform ends a request when its client disconnects, and the claim is not released.
  c.executionCtx.waitUntil(working.catch(() => undefined));
  return working;
}

/**
 * The body's decoded chunks. 413 past `limit` decoded bytes or past `RATIO`, 415 for an unknown encoding, 400 for a damaged one.
 */
export async function* decodedBody(request: Request, limit = BODY_BYTES): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (!request.body) return;
  const encoding = (request.headers.get("content-encoding") ?? "identity").trim().toLowerCase();
  if (!ENCODINGS.has(encoding)) throw new Problem(415, "Send the body with Content-Encoding gzip, zstd or none.");
  let size = 0;
  let sent = 0;
  const chunks = decode(request.body, encoding, (bytes) => (sent += bytes));
  try {
    for (;;) {
      const chunk = await nextChunk(chunks, encoding);
      if (!chunk) return;
      size += chunk.byteLength;
      if (size > limit) {
        throw new Problem(413, `The decoded request body is larger than ${limit} bytes. Send fewer runs at a time.`);
      }
      if (encoding !== "identity" && size > FREE_BYTES && size > RATIO * sent) {
        throw new Problem(
          413,
          `The request body expands to more than ${RATIO} times its size. Send fewer runs at a time.`,
        );
      }
      yield chunk;
    }
  } finally {
    await chunks.return(undefined);
  }
}

async function nextChunk(
  chunks: AsyncIterator<Uint8Array<ArrayBuffer>>,
  encoding: string,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    const next = await chunks.next();
    return next.done ? undefined : next.value;
  } catch {
    throw new Problem(400, `The request body ended early or is not valid ${encoding}.`);
  }
}

async function* decode(
  body: ReadableStream<Uint8Array>,
  encoding: string,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const sent = readLarge(body);
  try {
    yield* encoding === "identity" ? sent : decompress(toStream(sent, count), encoding);
  } finally {
    // What is left stays readable: `drainBody` (http/middleware.ts) reads it.
    await sent.return(undefined);
  }
}

function decompress(stream: ReadableStream<Uint8Array>, encoding: string): AsyncIterable<Uint8Array<ArrayBuffer>> {
  if (encoding === "zstd") return Readable.from(stream).compose(createZstdDecompress());
  return readLarge(stream.pipeThrough(new DecompressionStream("gzip")));
}

/** A stream of these chunks. Its cancellation leaves the rest of them unread. */
function toStream(chunks: AsyncGenerator<Uint8Array>, count: (bytes: number) => void): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (done) return controller.close();
      count(value.byteLength);
      controller.enqueue(value);
    },
  });
}

/** The platform's streams give some kilobytes at a time, and each is a turn of the event loop. */
async function* readLarge(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader({ mode: "byob" });
  try {
    for (;;) {
      const { value, done } = await reader.readAtLeast(CHUNK, new Uint8Array(CHUNK));
      if (value && value.byteLength > 0) yield value;
      if (done) return;
    }
  } finally {
    reader.releaseLock();
  }
}

/** Reads the whole decoded body. 503 when the memory budget is used up. */
export async function readWholeBody(
  request: Request,
  reservation: MemoryReservation,
  limit = WHOLE_BYTES,
): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of decodedBody(request, limit)) {
    size += chunk.byteLength;
    await reservation.hold(size);
    chunks.push(chunk);
  }
  const [only] = chunks;
  if (only && chunks.length === 1) return only;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
    giveBack(chunk);
  }
  return whole;
}

/** Frees a buffer that holds nothing but these bytes. V8 collects buffers late, and an isolate has 128 MB. */
export function giveBack({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

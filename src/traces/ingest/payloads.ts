/** Moves large payloads and attachments to R2, which keeps the write small. */
import type { SealedBlobs } from "../../access/encryption/blobs.ts";
import type { Ring } from "../../access/encryption/ring.ts";
import { logError } from "../../lib/log.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { Problem } from "../../lib/problem.ts";
import { sealWrite } from "../encryption.ts";
import { payloadKey } from "../stub.ts";
import { LARGE_FIELDS } from "../types.ts";
import { giveBack } from "./body.ts";
import type { RunDraft } from "./normalise.ts";
import type { RunOperation } from "./operations.ts";

/** An object for R2. */
export interface PayloadBlob {
  key: string;
  data: Uint8Array;
  /** Content type of an attachment. */
  type?: string;
}

/**
 * Adds the payloads to a draft's write. Returns the R2 objects that it refers to, which must be stored before it below the
 * partition's prefix.
 */
export function placePayloads(
  prefix: string,
  ring: Ring,
  { write, fields }: RunDraft,
  { attachments }: RunOperation,
): PayloadBlob[] {
  const blobs: PayloadBlob[] = [];
  for (const name of LARGE_FIELDS) {
    const content = fields[name]?.content;
    if (content === undefined) continue;
    if (typeof content === "string") {
      write[name] = { text: content };
      continue;
    }
    const { bytes, preview } = content;
    const hash = ring.hash(bytes, "hex");
    blobs.push({ key: payloadKey(prefix, hash), data: bytes });
    write[name] = { hash, bytes: bytes.byteLength, preview };
  }
  sealWrite(ring, write);
  for (const { name, type, data } of attachments)
    blobs.push({ key: attachmentKey(prefix, write.id, name), data, type });
  if (attachments.length > 0) {
    write.attachments = attachments.map(({ name, type, data }) => ({ name, type, bytes: data.byteLength }));
  }
  return blobs;
}

/** The key of an attachment. The name is encoded, so that it cannot leave its run's folder. */
export function attachmentKey(prefix: string, runId: string, name: string): string {
  return `${prefix}attachments/${runId}/${encodeURIComponent(name)}`;
}

/** Writes one object to R2 and frees its bytes. 503 when R2 fails; the SDKs then send the batch again. */
export async function putBlob(bucket: SealedBlobs, { key, data, type }: PayloadBlob): Promise<void> {
  await put(bucket, key, data, type);
  giveBack(data);
}

/**
 * Copies objects, for runs that another partition takes. The originals are deleted with theirs.
 * @throws Problem 503 when they are deleted already. The client sends them again.
 */
export async function copyBlobs(bucket: SealedBlobs, copies: { from: string; to: string }[]): Promise<void> {
  await inParallel(copies, CONNECTIONS, async ({ from, to }) => {
    const object = await bucket.get(from);
    if (!object) throw busy("Payloads of the batch were deleted with their project or day. Send the batch again.");
    await put(bucket, to, object.body, object.httpMetadata?.contentType);
  });
}

async function put(bucket: SealedBlobs, key: string, data: Uint8Array | ReadableStream, type?: string): Promise<void> {
  try {
    await bucket.put(key, data, type === undefined ? {} : { httpMetadata: { contentType: type } });
  } catch (error) {
    // R2 accepts one write per second and key. The key of a payload is its hash, so an existing object has the same content.
    if (type === undefined && (await bucket.head(key).catch(() => null))) return;
    logError(error, { while: "writing a large payload" });
    throw busy("The store of large payloads is busy. Send the batch again.");
  }
}

function busy(detail: string): Problem {
  return new Problem(503, detail, { headers: { "retry-after": "1" } });
}

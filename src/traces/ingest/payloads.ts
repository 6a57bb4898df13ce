/** Large payloads and attachments go to R2; what stays in the write is small. */
import { createHash } from "node:crypto";
import { blobPrefix, PAYLOAD_FIELDS, type PartitionIdentity, type PayloadWrite, type RunWrite } from "../rpc.ts";
import type { Draft } from "./normalise.ts";
import type { Operation } from "./operations.ts";

/** A payload past this lies in R2: a SQLite row holds 2 MB, and a run has five of them. */
const LARGE_BYTES = 256 * 1024;

/** The write with its payloads placed, after everything large is durably in R2. */
export async function placePayloads(
  blobs: R2Bucket,
  partition: PartitionIdentity,
  draft: Draft,
  operation: Operation,
): Promise<RunWrite> {
  const prefix = blobPrefix(partition.workspaceId, partition.projectId, partition.day);
  const { write, texts } = draft;
  for (const field of PAYLOAD_FIELDS) {
    const text = texts[field];
    if (text === undefined) continue;
    write[field] = isLarge(text) ? await putLarge(blobs, prefix, text, previewText(draft, field)) : { text };
  }
  if (texts.serialized !== undefined && !isLarge(texts.serialized)) write.serialized = texts.serialized;
  if (operation.attachments.length > 0) write.attachments = [];
  for (const { name, type, data } of operation.attachments) {
    await blobs.put(attachmentKey(prefix, write.id, name), data, { httpMetadata: { contentType: type } });
    write.attachments?.push({ name, type, bytes: data.byteLength });
  }
  return write;
}

/** Where an attachment lies: the name is encoded, so that it cannot leave its run's folder. */
export function attachmentKey(prefix: string, runId: string, name: string): string {
  return `${prefix}attachments/${runId}/${encodeURIComponent(name)}`;
}

function isLarge(text: string): boolean {
  return text.length > LARGE_BYTES || (text.length * 3 > LARGE_BYTES && Buffer.byteLength(text) > LARGE_BYTES);
}

function previewText(draft: Draft, field: (typeof PAYLOAD_FIELDS)[number]): string {
  return field === "error" ? (draft.texts.error ?? "").slice(0, 8_000) : JSON.stringify(draft.previews(field));
}

async function putLarge(blobs: R2Bucket, prefix: string, text: string, preview: string): Promise<PayloadWrite> {
  const bytes = new TextEncoder().encode(text);
  const hash = createHash("sha256").update(bytes).digest("hex");
  await blobs.put(`${prefix}payloads/${hash}`, bytes);
  return { hash, bytes: bytes.byteLength, preview };
}

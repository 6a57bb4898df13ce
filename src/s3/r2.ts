/** An object store that is an R2 bucket bound to the Worker: no credentials, no network. */
import { notStored, StoreError } from "../exports/s3/errors.ts";
import type { ObjectStore, Part } from "./object-store.ts";

/** R2's codes for a missing upload and for a missing part. */
const GONE = /\(100(24|25)\)/;

/** A bucket bound to the Worker; `name` is what people call it. */
export class R2Store implements ObjectStore {
  constructor(
    private readonly bucket: R2Bucket,
    private readonly name: string,
  ) {}

  locate(key: string): string {
    return `${this.name}/${key}`;
  }

  async put(key: string, bytes: Uint8Array, contentType: string): Promise<void> {
    await attempt(this.bucket.put(key, bytes, { httpMetadata: { contentType } }));
  }

  async remove(key: string): Promise<void> {
    await attempt(this.bucket.delete(key));
  }

  async createUpload(key: string, contentType: string): Promise<string> {
    return (await attempt(this.bucket.createMultipartUpload(key, { httpMetadata: { contentType } }))).uploadId;
  }

  async uploadPart(key: string, uploadId: string, number: number, bytes: Uint8Array): Promise<Part> {
    const { etag } = await attempt(this.bucket.resumeMultipartUpload(key, uploadId).uploadPart(number, bytes));
    return { number, etag };
  }

  async completeUpload(key: string, uploadId: string, parts: Part[]): Promise<void> {
    const uploaded = parts.map(({ number, etag }) => ({ partNumber: number, etag }));
    await attempt(this.bucket.resumeMultipartUpload(key, uploadId).complete(uploaded));
  }

  async confirm(key: string, bytes: number): Promise<void> {
    const object = await attempt(this.bucket.head(key));
    if (object?.size !== bytes) throw notStored(key);
  }

  async abortUpload(key: string, uploadId: string): Promise<void> {
    try {
      await this.bucket.resumeMultipartUpload(key, uploadId).abort();
    } catch (error) {
      if (!GONE.test(String(error))) throw refusal(error);
    }
  }

  /** A binding cannot list uploads. R2 ends those that are seven days old. */
  async openUploads(): Promise<string[]> {
    return [];
  }
}

async function attempt<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw refusal(error);
  }
}

/** A bound bucket has no credentials that could be wrong: every refused request may work later. */
function refusal(error: unknown): StoreError {
  return new StoreError(`R2: ${error instanceof Error ? error.message.slice(0, 300) : "unknown error"}`, "R2", false);
}

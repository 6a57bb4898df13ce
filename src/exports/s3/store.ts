/** The interface of an object store, its implementation for R2, and the Parquet writer whose bytes go to an object as they are made. */
import { createHash } from "node:crypto";
import { ByteWriter } from "hyparquet-writer";
import { notStored, StoreError } from "./errors.ts";

// What an export needs of an object store. Two kinds exist: an S3 API (client.ts) and a bound R2 bucket (`R2Store`).

/** A part of a multipart upload, as the store named it. */
export interface UploadPart {
  number: number;
  etag: string;
}

/**
 * Objects by key. Every method throws StoreError, whose `permanent` says whether trying again can help.
 * All are safe to repeat: a key is overwritten, a removal or an abort of a missing object succeeds.
 */
export interface ObjectStore {
  /** Bucket and key as people write them: `bucket/key`. */
  locate(key: string): string;
  put(key: string, bytes: Uint8Array, contentType: string): Promise<void>;
  remove(key: string): Promise<void>;
  /** Begins a multipart upload; parts must be equal in size but the last, which is no larger. Gives the upload's id. */
  createUpload(key: string, contentType: string): Promise<string>;
  uploadPart(key: string, uploadId: string, number: number, bytes: Uint8Array): Promise<UploadPart>;
  /** Makes the object visible, replacing an older one. */
  completeUpload(key: string, uploadId: string, parts: UploadPart[]): Promise<void>;
  /** Throws unless the store holds an object of this size. Passes when the credentials may not read it. */
  confirm(key: string, bytes: number): Promise<void>;
  abortUpload(key: string, uploadId: string): Promise<void>;
  /** The ids of the uploads of a key that are open, also of those whose id was lost with the store's answer. None where they cannot be listed. */
  openUploads(key: string): Promise<string[]>;
}

export interface SinkObject {
  key: string;
  contentType: string;
  /** Parts have this size but the last: R2 requires equal sizes, S3 at least 5 MiB. */
  partBytes: number;
}

/** What the sink's owner does around the moments that matter after a crash. Each is awaited. */
export interface SinkEvents {
  /** An upload is about to begin. The store may begin it and its answer may be lost, so record its key. */
  uploadDue(): Promise<void>;
  /** An upload was begun. Record its id before anything is sent to it. */
  uploadCreated(uploadId: string): Promise<void>;
  /** Part `number` has arrived. */
  partUploaded(number: number): Promise<void>;
}

/**
 * Bytes beyond one part go out as a multipart upload with one part in flight; a smaller object is put at once when it is
 * completed. Nothing can be seen in the bucket before `complete`.
 */
export class ObjectSink extends ByteWriter {
  private uploadId: string | undefined;
  private readonly parts: UploadPart[] = [];
  private inFlight: Promise<UploadPart> | undefined;
  private readonly hash = createHash("sha256");
  private digest: string | undefined;
  /** The bytes of the part in flight. */
  private flying: Uint8Array<ArrayBuffer> | undefined;

  constructor(
    private readonly store: ObjectStore,
    private readonly object: SinkObject,
    private readonly events: SinkEvents,
  ) {
    super(64 * 1024);
  }

  /** SHA-256 of the whole object, hex; known once `finish` has run. */
  get sha256(): string {
    if (this.digest === undefined) throw new Error("the object is not finished");
    return this.digest;
  }

  /** Called by the Parquet writer after each row group: sends every full part. */
  async flush(): Promise<void> {
    while (this.index > this.object.partBytes) await this.sendPart(this.take(this.object.partBytes));
  }

  /** Called by the Parquet writer when the file is whole: everything but the last bytes has been sent. */
  override finish(): Promise<void> {
    return this.finishParts();
  }

  /** Makes the object visible. */
  async complete(): Promise<void> {
    if (this.uploadId === undefined) return this.store.put(this.object.key, this.getBytes(), this.object.contentType);
    await this.store.completeUpload(this.object.key, this.uploadId, this.parts);
  }

  /** Aborts the upload that was begun, if any. */
  async abort(): Promise<void> {
    await this.inFlight?.catch(() => undefined);
    if (this.uploadId !== undefined) await this.store.abortUpload(this.object.key, this.uploadId);
  }

  private async finishParts(): Promise<void> {
    await this.flush();
    if (this.uploadId === undefined) {
      this.hash.update(this.getBytes());
    } else {
      await this.sendPart(this.take(this.index));
      await this.arrived();
    }
    this.digest = this.hash.digest("hex");
  }

  /** Cuts the first `size` bytes off the buffer. */
  private take(size: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(this.buffer.slice(0, size));
    new Uint8Array(this.buffer).copyWithin(0, size, this.index);
    this.index -= size;
    this.hash.update(bytes);
    return bytes;
  }

  private async sendPart(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.arrived();
    if (this.uploadId === undefined) {
      await this.events.uploadDue();
      this.uploadId = await this.store.createUpload(this.object.key, this.object.contentType);
      await this.events.uploadCreated(this.uploadId);
    }
    this.flying = bytes;
    this.inFlight = this.store.uploadPart(this.object.key, this.uploadId, this.parts.length + 1, bytes);
    // Checked when the next part is due. Until then a failure must not count as unhandled.
    this.inFlight.catch(() => undefined);
  }

  private async arrived(): Promise<void> {
    if (this.inFlight === undefined) return;
    const part = await this.inFlight;
    // Given back at once: V8 collects buffers late, and an isolate has 128 MB.
    this.flying?.buffer.transfer(0);
    this.flying = undefined;
    this.inFlight = undefined;
    this.parts.push(part);
    await this.events.partUploaded(part.number);
  }
}

// An object store that is an R2 bucket bound to the Worker: no credentials, no network.

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

  async uploadPart(key: string, uploadId: string, number: number, bytes: Uint8Array): Promise<UploadPart> {
    const { etag } = await attempt(this.bucket.resumeMultipartUpload(key, uploadId).uploadPart(number, bytes));
    return { number, etag };
  }

  async completeUpload(key: string, uploadId: string, parts: UploadPart[]): Promise<void> {
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

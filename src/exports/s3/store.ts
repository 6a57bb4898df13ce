/** A writer for hyparquet-writer whose bytes go to an object while they are made. */
import { createHash } from "node:crypto";
import { ByteWriter } from "hyparquet-writer";
import type { ObjectStore, Part } from "../../s3/object-store.ts";

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
  private readonly parts: Part[] = [];
  private inFlight: Promise<Part> | undefined;
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

/** What an export needs of an object store. Two kinds exist: an S3 API (client.ts) and a bound R2 bucket (r2.ts). */

/** A part of a multipart upload, as the store named it. */
export interface Part {
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
  uploadPart(key: string, uploadId: string, number: number, bytes: Uint8Array): Promise<Part>;
  /** Makes the object visible, replacing an older one. */
  completeUpload(key: string, uploadId: string, parts: Part[]): Promise<void>;
  /** Throws unless the store holds an object of this size. Passes when the credentials may not read it. */
  confirm(key: string, bytes: number): Promise<void>;
  abortUpload(key: string, uploadId: string): Promise<void>;
  /** The ids of the uploads of a key that are open, also of those whose id was lost with the store's answer. None where they cannot be listed. */
  openUploads(key: string): Promise<string[]>;
}

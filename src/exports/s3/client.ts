/** An object store behind an S3 API: requests signed with AWS Signature Version 4. */
import { createHash } from "node:crypto";
import { AwsV4Signer } from "aws4fetch";
import { readElement, readStoreError, notStored, StoreError, unreachable } from "./errors.ts";
import type { ObjectStore, UploadPart } from "./store.ts";

// Where a bucket answers: from a destination's configuration to the URL of an object.

export type AddressingStyle = "auto" | "virtual" | "path";

export interface BucketAddress {
  bucket: string;
  region: string | null;
  /** Null for AWS, which is addressed by region. */
  endpointUrl: string | null;
  addressingStyle: AddressingStyle;
  /** False when the endpoint's host or path already names the bucket. */
  bucketInUrl: boolean;
  accelerate: boolean;
}

/** The base URL of the bucket's objects, ending in "/". */
export function bucketUrl(address: BucketAddress): string {
  const { bucket, region, endpointUrl, accelerate } = address;
  if (endpointUrl === null) {
    const host = accelerate ? "s3-accelerate.amazonaws.com" : awsHost(region ?? "us-east-1");
    // A dot in the bucket's name breaks the certificate of a virtual host.
    return isVirtual(address, !bucket.includes(".")) ? `https://${bucket}.${host}/` : `https://${host}/${bucket}/`;
  }
  const url = new URL(endpointUrl);
  const path = url.pathname.replace(/\/+$/, "");
  if (!address.bucketInUrl) return `${url.origin}${path}/`;
  if (isVirtual(address, false)) return `${url.protocol}//${bucket}.${url.host}${path}/`;
  return `${url.origin}${path}/${encodeSegment(bucket)}/`;
}

function awsHost(region: string): string {
  return `s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}

function isVirtual({ addressingStyle, accelerate }: BucketAddress, automatic: boolean): boolean {
  return accelerate || addressingStyle === "virtual" || (addressingStyle === "auto" && automatic);
}

/** The region to sign for. R2 calls its only one "auto"; most other servers accept us-east-1. */
export function signingRegion({ region, endpointUrl }: BucketAddress): string {
  if (region) return region;
  return endpointUrl && new URL(endpointUrl).hostname.endsWith(".r2.cloudflarestorage.com") ? "auto" : "us-east-1";
}

/**
 * A key as it must stand in the path. Servers verify the signature against the raw path, signers sign the encoded one:
 * only when each segment is fully encoded ("=" included) are the two the same.
 */
export function encodeKey(key: string): string {
  return key.split("/").map(encodeSegment).join("/");
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | null;
}

/** What a client needs of the world, so that a test can control it. */
export interface S3World {
  fetch(request: Request): Promise<Response>;
  now(): number;
  /** Waits that many milliseconds. */
  sleep(milliseconds: number): Promise<void>;
}

export interface S3Options {
  address: BucketAddress;
  credentials: S3Credentials;
  /** Sent with PutObject and CreateMultipartUpload: encryption, storage class, ACL. */
  objectHeaders: Record<string, string>;
  /** Sent with every request: who pays, whose bucket it must be. */
  requestHeaders: Record<string, string>;
}

/** The timeout of one attempt, milliseconds. A part of 5 MiB needs 1.4 Mbit/s. */
export const TIMEOUT_MS = 30_000;
/** Attempts of one request, and the pause before the second, milliseconds; it doubles. */
export const ATTEMPTS = 3;
const PAUSE_MS = 250;

/** The longest time of one call with all attempts, milliseconds. The lease of an export run is derived from it. */
export const LONGEST_CALL_MS = ATTEMPTS * TIMEOUT_MS + PAUSE_MS * (2 ** (ATTEMPTS - 1) - 1);

interface S3Request {
  method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  key: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array;
  /** The element that a 200 answer must have. */
  expects?: string;
}

/** A bucket behind an S3 API. Every refusal is a StoreError with the store's own reason. */
export class S3Store implements ObjectStore {
  private readonly base: string;
  private readonly region: string;
  private readonly signingKeys = new Map<string, ArrayBuffer>();

  constructor(
    private readonly options: S3Options,
    private readonly world: S3World,
  ) {
    this.base = bucketUrl(options.address);
    this.region = signingRegion(options.address);
  }

  locate(key: string): string {
    return `${this.options.address.bucket}/${key}`;
  }

  async put(key: string, bytes: Uint8Array, contentType: string): Promise<void> {
    await this.send({
      method: "PUT",
      key,
      headers: { ...this.objectHeaders(contentType), ...md5(bytes) },
      body: bytes,
    });
  }

  async remove(key: string): Promise<void> {
    await this.send({ method: "DELETE", key });
  }

  async createUpload(key: string, contentType: string): Promise<string> {
    const { text } = await this.send({
      method: "POST",
      key,
      query: { uploads: "" },
      headers: this.objectHeaders(contentType),
    });
    const id = readElement(text, "UploadId");
    if (!id) throw new StoreError("InvalidAnswer: the store gave no upload id", "InvalidAnswer", false);
    return id;
  }

  async uploadPart(key: string, uploadId: string, number: number, bytes: Uint8Array): Promise<UploadPart> {
    const { response } = await this.send({
      method: "PUT",
      key,
      query: { partNumber: String(number), uploadId },
      headers: md5(bytes),
      body: bytes,
    });
    const etag = response.headers.get("etag");
    if (!etag) throw new StoreError("InvalidAnswer: the store gave no ETag for a part", "InvalidAnswer", false);
    return { number, etag };
  }

  async completeUpload(key: string, uploadId: string, parts: UploadPart[]): Promise<void> {
    const list = parts
      .map(({ number, etag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${escapeXml(etag)}</ETag></Part>`)
      .join("");
    await this.send({
      method: "POST",
      key,
      query: { uploadId },
      expects: "CompleteMultipartUploadResult",
      headers: { "content-type": "application/xml" },
      body: new TextEncoder().encode(`<CompleteMultipartUpload>${list}</CompleteMultipartUpload>`),
    });
  }

  async confirm(key: string, bytes: number): Promise<void> {
    const head = await this.sendIfAllowed({ method: "HEAD", key }).catch((error: unknown) => {
      throw error instanceof StoreError && error.code === "HTTP404" ? notStored(key) : error;
    });
    const length = head?.response.headers.get("content-length");
    if (length && Number(length) !== bytes) throw notStored(key);
  }

  async abortUpload(key: string, uploadId: string): Promise<void> {
    try {
      await this.send({ method: "DELETE", key, query: { uploadId } });
    } catch (error) {
      if (!(error instanceof StoreError && error.code === "NoSuchUpload")) throw error;
    }
  }

  /** ListMultipartUploads. A list holds 1,000 uploads, more than one key ever has. */
  async openUploads(key: string): Promise<string[]> {
    const list = await this.sendIfAllowed({ method: "GET", key: "", query: { uploads: "", prefix: key } });
    const uploads = [...(list?.text.matchAll(/<Upload>[^]*?<\/Upload>/g) ?? [])].map(([upload]) => upload);
    return uploads.flatMap((upload) =>
      readElement(upload, "Key") === key ? (readElement(upload, "UploadId") ?? []) : [],
    );
  }

  /** Undefined when the store refuses: credentials that may only write are enough for an export. */
  private async sendIfAllowed(request: S3Request): Promise<{ response: Response; text: string } | undefined> {
    try {
      return await this.send(request);
    } catch (error) {
      if (error instanceof StoreError && error.permanent && error.code !== "HTTP404") return undefined;
      throw error;
    }
  }

  private objectHeaders(contentType: string): Record<string, string> {
    return { "content-type": contentType, ...this.options.objectHeaders };
  }

  /** Sends with a few quick retries. Longer outages are retried by the caller. */
  private async send(request: S3Request): Promise<{ response: Response; text: string }> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.sendOnce(request);
      } catch (error) {
        const refusal = error instanceof StoreError ? error : unreachable(error);
        if (refusal.permanent || refusal.code === "NoSuchUpload" || attempt === ATTEMPTS) throw refusal;
        await this.world.sleep(PAUSE_MS * 2 ** (attempt - 1));
      }
    }
  }

  private async sendOnce(request: S3Request): Promise<{ response: Response; text: string }> {
    // Not AbortSignal.timeout: it stays active after the answer and keeps the body in memory.
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(new DOMException("no answer", "TimeoutError")), TIMEOUT_MS);
    try {
      const response = await this.world.fetch(await this.sign(request, abort.signal));
      const text = await response.text();
      if (!response.ok) throw readStoreError(response.status, text, this.withoutSecrets);
      // S3 may answer 200 before the operation ends, and then send the error in the body.
      if (!text.includes(request.expects ?? "") || text.includes("<Error>")) {
        throw readStoreError(500, text, this.withoutSecrets);
      }
      return { response, text };
    } finally {
      clearTimeout(timer);
    }
  }

  private async sign(
    { method, key, query = {}, headers = {}, body }: S3Request,
    signal: AbortSignal,
  ): Promise<Request> {
    const url = new URL(this.base + encodeKey(key));
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers: {
        ...headers,
        ...this.options.requestHeaders,
        "x-amz-content-sha256": createHash("sha256")
          .update(body ?? "")
          .digest("hex"),
      },
      accessKeyId: this.options.credentials.accessKeyId,
      secretAccessKey: this.options.credentials.secretAccessKey,
      sessionToken: this.options.credentials.sessionToken ?? undefined,
      service: "s3",
      region: this.region,
      datetime: new Date(this.world.now()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
      cache: this.signingKeys,
    });
    const signed = await signer.sign();
    return new Request(signed.url, {
      method,
      headers: signed.headers,
      body: body as Uint8Array<ArrayBuffer> | undefined,
      // A redirect could lead where addressFault would not let us go.
      redirect: "manual",
      signal,
    });
  }

  private readonly withoutSecrets = (text: string): string => {
    const { accessKeyId, secretAccessKey, sessionToken } = this.options.credentials;
    return [accessKeyId, secretAccessKey, sessionToken]
      .filter((secret) => typeof secret === "string" && secret !== "")
      .reduce<string>((rest, secret) => rest.replaceAll(secret as string, "…"), text);
  };
}

/** Buckets with Object Lock refuse an upload without a checksum; every server supports this one. */
function md5(bytes: Uint8Array): Record<string, string> {
  return { "content-md5": createHash("md5").update(bytes).digest("base64") };
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

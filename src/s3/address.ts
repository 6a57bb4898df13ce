/** Where a bucket answers: from a destination's configuration to the URL of an object. */

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

/** Secrets are made from 32 random bytes, shown once, and kept only as SHA-256. */

export async function sha256(text: string): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** A new secret: `prefix` and 32 random bytes in base64url. */
export function newSecret(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return prefix + base64url(bytes);
}

export function hex(bytes: ArrayBuffer): string {
  return Buffer.from(bytes).toString("hex");
}

export function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}

/** Whether two strings are equal, in a time that does not depend on where they differ. */
export async function sameSecret(a: string, b: string): Promise<boolean> {
  return equalHashes(await sha256(a), await sha256(b));
}

/** The same for two hashes, which have one length. */
export function equalHashes(a: string, b: string): boolean {
  const encoder = new TextEncoder();
  return crypto.subtle.timingSafeEqual(encoder.encode(a), encoder.encode(b));
}

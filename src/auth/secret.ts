/** Secrets are made from 32 random bytes, shown once, and kept only as SHA-256. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** The hash of a secret, hex. Only the hash is stored. */
export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A new secret: `prefix` and 32 random bytes in base64url. */
export function newSecret(prefix: string): string {
  return prefix + randomBytes(32).toString("base64url");
}

/** Whether two strings are equal, in a time that does not depend on where they differ. */
export function sameSecret(a: string, b: string): boolean {
  return equalHashes(sha256(a), sha256(b));
}

/** The same for two hashes, which have one length. */
export function equalHashes(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(a), Buffer.from(b));
}

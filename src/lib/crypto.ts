/** Texts sealed under keys derived from ENCRYPTION_KEY; hashes and comparison of secrets. */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/**
 * Encrypts values that must be read again: AES-256-GCM under keys that HKDF-SHA-256 derives from the deployment's
 * ENCRYPTION_KEY, one for each purpose. A ciphertext names the ENCRYPTION_KEY that it needs, so that a new key can take
 * over while ENCRYPTION_KEYS_OLD still opens older texts.
 */

export type SealKeys = Pick<Env, "ENCRYPTION_KEY" | "ENCRYPTION_KEYS_OLD">;

interface SealKey {
  id: string;
  raw: Uint8Array<ArrayBuffer>;
}

/** Begins a ciphertext: the number of its form. */
const FORM = "v1";
const IV_BYTES = 12;
const KEY_BYTES = 32;

/** `v1.<key id>.<base64 of a random IV and the ciphertext with its tag>`. `purpose` must be the same to open it. */
export async function sealText(keys: SealKeys, text: string, purpose: string): Promise<string> {
  const { id, raw } = await sealKey(keys.ENCRYPTION_KEY);
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const data = new TextEncoder().encode(text);
  const sealed = await crypto.subtle.encrypt(cipherParameters(iv, purpose), await derivedKey(raw, purpose), data);
  return `${FORM}.${id}.${Buffer.concat([iv, new Uint8Array(sealed)]).toString("base64")}`;
}

/** Throws when no key of the deployment fits, or the text was sealed for another purpose. */
export async function unseal(keys: SealKeys, sealed: string, purpose: string): Promise<string> {
  const [form, id, data = ""] = sealed.split(".");
  const ring = await Promise.all([keys.ENCRYPTION_KEY, ...olderKeys(keys)].map(sealKey));
  const raw = form === FORM ? ring.find((candidate) => candidate.id === id)?.raw : undefined;
  if (!raw) throw new Error("no ENCRYPTION_KEY of this deployment opens the text");
  const bytes = Uint8Array.from(Buffer.from(data, "base64"));
  const iv = bytes.subarray(0, IV_BYTES);
  const open = await crypto.subtle.decrypt(
    cipherParameters(iv, purpose),
    await derivedKey(raw, purpose),
    bytes.subarray(IV_BYTES),
  );
  return new TextDecoder().decode(open);
}

/** Whether the text was sealed with an older key, and should be sealed again. */
export async function isStale(keys: SealKeys, sealed: string): Promise<boolean> {
  return !sealed.startsWith(`${FORM}.${(await sealKey(keys.ENCRYPTION_KEY)).id}.`);
}

function olderKeys({ ENCRYPTION_KEYS_OLD }: SealKeys): string[] {
  return (ENCRYPTION_KEYS_OLD ?? "").split(",").flatMap((key) => key.trim() || []);
}

/** The key and its id: the first bytes of its hash. */
async function sealKey(text: string): Promise<SealKey> {
  const raw = Uint8Array.from(Buffer.from(text, "base64"));
  if (raw.length !== KEY_BYTES) throw new Error("ENCRYPTION_KEY must be 32 bytes in base64");
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", raw));
  return { id: Buffer.from(hash.subarray(0, 6)).toString("hex"), raw };
}

async function cipherKey(raw: Uint8Array<ArrayBuffer> | ArrayBuffer): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
}

/** RFC 5869 without a salt: the input is uniformly random already. */
async function derivedKey(raw: Uint8Array<ArrayBuffer>, purpose: string): Promise<CryptoKey> {
  const input = await crypto.subtle.importKey("raw", raw, "HKDF", false, ["deriveBits"]);
  const info = new TextEncoder().encode(`weir/seal/${purpose}`);
  const parameters = { name: "HKDF", hash: "SHA-256", salt: new Uint8Array(), info };
  return cipherKey(await crypto.subtle.deriveBits(parameters, input, KEY_BYTES * 8));
}

function cipherParameters(iv: Uint8Array, purpose: string): SubtleCryptoEncryptAlgorithm {
  return { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(purpose) };
}

// Secrets are made from 32 random bytes, shown once, and kept only as SHA-256.

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

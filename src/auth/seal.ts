/**
 * What must be read again but not lie about in the clear: AES-256-GCM under the deployment's ENCRYPTION_KEY. Each
 * ciphertext names its key, so that a new key can take over while ENCRYPTION_KEYS_OLD still opens what was sealed before.
 */

export type SealKeys = Pick<Env, "ENCRYPTION_KEY" | "ENCRYPTION_KEYS_OLD">;

interface SealKey {
  id: string;
  key: CryptoKey;
}

const IV_BYTES = 12;
const KEY_BYTES = 32;

/** `<key id>.<base64 of a random IV and the ciphertext with its tag>`. `purpose` must be the same to open it. */
export async function seal(keys: SealKeys, text: string, purpose: string): Promise<string> {
  const { id, key } = await sealKey(keys.ENCRYPTION_KEY);
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const data = new TextEncoder().encode(text);
  const sealed = await crypto.subtle.encrypt(parameters(iv, purpose), key, data);
  return `${id}.${Buffer.concat([iv, new Uint8Array(sealed)]).toString("base64")}`;
}

/** Throws when no key of the deployment fits, or the text was sealed for another purpose. */
export async function unseal(keys: SealKeys, sealed: string, purpose: string): Promise<string> {
  const [id, data = ""] = sealed.split(".");
  const ring = await Promise.all([keys.ENCRYPTION_KEY, ...olderKeys(keys)].map(sealKey));
  const key = ring.find((candidate) => candidate.id === id)?.key;
  if (!key) throw new Error("no ENCRYPTION_KEY of this deployment opens the text");
  const bytes = Uint8Array.from(Buffer.from(data, "base64"));
  const iv = bytes.subarray(0, IV_BYTES);
  const open = await crypto.subtle.decrypt(parameters(iv, purpose), key, bytes.subarray(IV_BYTES));
  return new TextDecoder().decode(open);
}

/** Whether the text was sealed with an older key and should be sealed anew. */
export async function isStale(keys: SealKeys, sealed: string): Promise<boolean> {
  return sealed.split(".")[0] !== (await sealKey(keys.ENCRYPTION_KEY)).id;
}

function olderKeys({ ENCRYPTION_KEYS_OLD }: SealKeys): string[] {
  return (ENCRYPTION_KEYS_OLD ?? "").split(",").flatMap((key) => key.trim() || []);
}

/** The key and its id: the first bytes of its hash. */
async function sealKey(text: string): Promise<SealKey> {
  const raw = Uint8Array.from(Buffer.from(text, "base64"));
  if (raw.length !== KEY_BYTES) throw new Error("ENCRYPTION_KEY must be 32 bytes in base64");
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", raw));
  const key = await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
  return { id: Buffer.from(hash.subarray(0, 6)).toString("hex"), key };
}

function parameters(iv: Uint8Array, purpose: string): SubtleCryptoEncryptAlgorithm {
  return { name: "AES-GCM", iv, additionalData: new TextEncoder().encode(purpose) };
}

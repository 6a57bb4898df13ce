/**
 * The data keys of a workspace, and the one form in which text is stored under them: AES-256-GCM with a random nonce of 96 bits
 * (NIST SP 800-38D, 8.2.2). What is authenticated with the text names the workspace and the place of the text, so a ciphertext that
 * is moved to another row, table or workspace does not open. Node's cipher is synchronous, as the storage of an object is.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from "node:crypto";
import { parseExact } from "../../lib/json.ts";
import { remoteProblem } from "../../lib/problem.ts";

/** A data key as D1 has it: wrapped by ENCRYPTION_KEY, or null once it is destroyed. */
export interface DataKeyRow {
  id: string;
  wrapped: string | null;
}

/** Where a text is stored: the kind of place, then what identifies the row and the column. */
export type SealContext = readonly (string | number | null)[];

/** Begins a sealed text. Neither JSON nor a Base64 text begins with a raw control character. */
const MARK = "\u0002";
const VERSION = "1";
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEADER = /^(\w{1,3})\.([0-9a-f]{16})\./;

/** 410: a data key that the text needs no longer exists. */
const keyDestroyed = () =>
  remoteProblem(410, "This data was encrypted with a key that has been destroyed. It can be deleted, but not read.");

/** Whether an error says that a key is destroyed; also one that has crossed an object's boundary. */
export const isKeyDestroyed = (error: unknown): boolean =>
  error instanceof Error && error.message === keyDestroyed().message;

/** The ring has no key of this id, also no destroyed one: its rows were read before the key was made. */
export class UnknownKey extends Error {
  constructor() {
    super(keyDestroyed().message);
  }
}

/** What is read, or `lost` where its key is destroyed. An unknown key throws, so that the keys are read again (keys.ts). */
export function openOr<T>(read: () => T, lost: T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof UnknownKey || !isKeyDestroyed(error)) throw error;
    return lost;
  }
}

export const isSealed = (held: unknown): held is string => typeof held === "string" && held.startsWith(MARK);

/** How the JSON of a sealed text begins. */
export const JSON_MARK = JSON.stringify(MARK).slice(0, -1);

/** Whether a text is sealed, or the JSON of a sealed text. */
export const isSealedJson = (text: string): boolean => text.startsWith(MARK) || text.startsWith(JSON_MARK);

export class Ring {
  /** `rows`: oldest first. `keys`: those that are not destroyed, by their id. `isFresh`: the rows were read for this use. */
  constructor(
    readonly workspaceId: string,
    readonly rows: readonly DataKeyRow[] = [],
    private readonly keys: ReadonlyMap<string, Uint8Array> = new Map(),
    private readonly isFresh = false,
  ) {}

  /** Whether new texts are encrypted. */
  get isOn(): boolean {
    return this.rows.length > 0;
  }

  /** The text as it is to be stored: sealed with the newest key, or as it is where the workspace has no key. */
  seal(text: string, context: SealContext): string {
    if (!this.isOn) return text;
    const { keyId, bytes } = this.sealBytes(Buffer.from(text), context);
    return `${MARK}${VERSION}.${keyId}.${bytes.toString("base64")}`;
  }

  /** The same for bytes that are stored beside the id of their key. Only while the ring is on. */
  sealBytes(data: Uint8Array, context: SealContext): { keyId: string; bytes: Buffer } {
    const keyId = this.rows.at(-1)?.id ?? "";
    const key = this.keys.get(keyId);
    if (!key) throw keyDestroyed();
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(this.#bound(keyId, context));
    return { keyId, bytes: Buffer.concat([iv, cipher.update(data), cipher.final(), cipher.getAuthTag()]) };
  }

  /**
   * The text that was stored at this place. One that is not sealed is returned as it is: it was stored before the workspace had a
   * key. Throws a problem of status 410 when the key is destroyed, `UnknownKey`, and an error when the text belongs to another place.
   */
  open(held: string, context: SealContext): string {
    if (!isSealed(held)) return held;
    const [header = "", version, id = ""] = HEADER.exec(held.slice(MARK.length, 30)) ?? [];
    if (version === undefined) return held;
    // No row of a key is ever deleted, so a text under another id was sent as it is by a client.
    if (this.isFresh && !this.rows.some((row) => row.id === id)) return held;
    if (version !== VERSION) throw remoteProblem(503, "A newer version of Weir encrypted this data.");
    return this.openBytes(id, Buffer.from(held.slice(MARK.length + header.length), "base64"), context).toString();
  }

  /** The bytes that `sealBytes` has sealed at this place with a key. Throws as `open`. */
  openBytes(keyId: string, bytes: Uint8Array, context: SealContext): Buffer {
    const key = this.keys.get(keyId);
    if (!key) throw this.rows.some(({ id }) => id === keyId) ? keyDestroyed() : new UnknownKey();
    const end = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(this.#bound(keyId, context))
      .setAuthTag(bytes.subarray(end));
    try {
      return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, end)), decipher.final()]);
    } catch (cause) {
      throw new Error("Encrypted data was changed, or belongs to another place.", { cause });
    }
  }

  /** SHA-256 of content. With a key it is an HMAC: who can read the storage cannot confirm a guess. */
  hash(data: string | Uint8Array, encoding: "base64url" | "hex" = "base64url"): string {
    const key = this.keys.get(this.rows.at(-1)?.id ?? "");
    return (key ? createHmac("sha256", key) : createHash("sha256")).update(data).digest(encoding);
  }

  /** The same keys, for a caller that has just read their rows: a text under an id that they lack is not sealed. */
  get fresh(): Ring {
    return new Ring(this.workspaceId, this.rows, this.keys, true);
  }

  /** Whether a key of this ring is destroyed in `later`. */
  hasLost(later: Ring): boolean {
    return this.rows.some(({ id }) => this.keys.has(id) && !later.keys.has(id));
  }

  #bound(keyId: string, context: SealContext): Buffer {
    return Buffer.from(JSON.stringify([this.workspaceId, keyId, ...context]));
  }
}

// Objects in columns of JSON: sealed, a column holds an object with one member, the sealed text.

export function sealJson<T extends object>(ring: Ring, value: T, context: SealContext): T {
  return ring.isOn ? ({ sealed: ring.seal(JSON.stringify(value), context) } as unknown as T) : value;
}

/** The object that was stored at this place. An object that only looks sealed was sent by a client, and is returned as it is. */
export function openJson<T extends object>(ring: Ring, held: T, context: SealContext): T {
  const { sealed } = held as { sealed?: unknown };
  if (!isSealed(sealed) || Object.keys(held).length !== 1) return held;
  const text = ring.open(sealed, context);
  return isSealed(text) ? held : (parseExact(text) as T);
}

/** The same for a list; undefined for an object whose key is destroyed. */
export function openListed<T extends object>(ring: Ring, held: T, context: SealContext): T | undefined {
  return openOr(() => openJson(ring, held, context), undefined);
}

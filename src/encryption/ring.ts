/**
 * The data keys of a workspace, and the one form in which text is stored under them: AES-256-GCM with a random nonce of 96 bits
 * (NIST SP 800-38D, 8.2.2). What is authenticated with the text names the workspace and the place of the text, so a ciphertext that
 * is moved to another row, table or workspace does not open. Node's cipher is synchronous, as the storage of an object is.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from "node:crypto";
import { remoteProblem } from "../http/problem.ts";

/** A data key as D1 has it: wrapped by ENCRYPTION_KEY, or null once it is destroyed. */
export interface KeyRow {
  id: string;
  wrapped: string | null;
}

/** Where a text is stored: the kind of place, then what identifies the row and the column. */
export type Place = readonly (string | number | null)[];

/** Begins a sealed text. Neither JSON nor a Base64 text begins with a raw control character. */
const MARK = "\u0002";
const VERSION = "1";
const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEADER = /^(\w{1,3})\.([0-9a-f]{16})\./;

/** 410: a data key that the text needs does not exist any more. */
const destroyed = () =>
  remoteProblem(410, "This data was encrypted with a key that has been destroyed. It can be deleted, but not read.");

/** Whether an error says that a key is destroyed; also one that has crossed an object's boundary. */
export const isKeyDestroyed = (error: unknown): boolean =>
  error instanceof Error && error.message === destroyed().message;

/** The ring has no key of this id, also no destroyed one: its rows were read before the key was made. */
export class UnknownKey extends Error {
  constructor() {
    super(destroyed().message);
  }
}

/** Whether a text is sealed. */
export const isSealed = (held: unknown): held is string => typeof held === "string" && held.startsWith(MARK);

export class Ring {
  /** `rows`: oldest first. `keys`: those that are not destroyed, by their id. `isFresh`: the rows were read for this use. */
  constructor(
    readonly workspaceId: string,
    readonly rows: readonly KeyRow[] = [],
    private readonly keys: ReadonlyMap<string, Uint8Array> = new Map(),
    private readonly isFresh = false,
  ) {}

  /** Whether new texts are encrypted. */
  get isOn(): boolean {
    return this.rows.length > 0;
  }

  /** The text as it is to be stored: sealed with the newest key, or as it is where the workspace has no key. */
  seal(text: string, place: Place): string {
    const newest = this.rows.at(-1);
    if (!newest) return text;
    const key = this.keys.get(newest.id);
    if (!key) throw destroyed();
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(this.#bound(newest.id, place));
    const body = Buffer.concat([iv, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `${MARK}${VERSION}.${newest.id}.${body.toString("base64")}`;
  }

  /**
   * The text that was stored at this place. One that is not sealed is returned as it is: it was stored before the workspace had a
   * key. Throws a problem of status 410 when the key is destroyed, `UnknownKey`, and an error when the text belongs to another place.
   */
  open(held: string, place: Place): string {
    if (!isSealed(held)) return held;
    const [header = "", version, id = ""] = HEADER.exec(held.slice(MARK.length, 30)) ?? [];
    if (version === undefined) return held;
    const key = this.keys.get(id);
    if (!key && this.rows.some((row) => row.id === id)) throw destroyed();
    // No row of a key is ever deleted, so a text under another id was sent as it is by a client.
    if (!key && this.isFresh) return held;
    if (!key) throw new UnknownKey();
    if (version !== VERSION) throw remoteProblem(503, "A newer version of Weir encrypted this data.");
    const bytes = Buffer.from(held.slice(MARK.length + header.length), "base64");
    const end = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(this.#bound(id, place))
      .setAuthTag(bytes.subarray(end));
    return decipher.update(bytes.subarray(IV_BYTES, end), undefined, "utf8") + decipher.final("utf8");
  }

  /** SHA-256 of a text, base64url. With a key it is an HMAC: who can read the storage cannot confirm a guess of the text. */
  hash(text: string): string {
    const key = this.keys.get(this.rows.at(-1)?.id ?? "");
    return (key ? createHmac("sha256", key) : createHash("sha256")).update(text).digest("base64url");
  }

  /** The same keys, for a caller that has just read their rows: a text under an id that they lack is not sealed. */
  get fresh(): Ring {
    return new Ring(this.workspaceId, this.rows, this.keys, true);
  }

  /** Whether a key of this ring is destroyed in `later`. */
  hasLost(later: Ring): boolean {
    return this.rows.some(({ id }) => this.keys.has(id) && !later.keys.has(id));
  }

  #bound(keyId: string, place: Place): Buffer {
    return Buffer.from(JSON.stringify([this.workspaceId, keyId, ...place]));
  }
}

/**
 * Texts of any length in columns that hold 2 MB. A long text is stored in `blobs`, in parts below that limit, and the
 * column holds a reference to it. Limits count bytes of UTF-8, because SQLite's limit does.
 */
import { isSealed, type SealContext, Ring } from "../../access/encryption/ring.ts";

// How a thread's texts are sealed: with the keys of its workspace, each bound to its row.

/** The tables of which a copy takes the rows as they are. */
const COPIED = /^(?:packs|writes|segments)\b/;

export class TextVault {
  /** The thread under whose id copied rows are sealed: this one, or the one of which it is a copy. */
  origin: string;

  constructor(
    readonly threadId: string,
    public ring: Ring = new Ring(""),
  ) {
    this.origin = threadId;
  }

  /** `row`: the column, and what identifies its row. */
  seal(text: string, ...row: SealContext): string {
    return this.ring.isOn ? this.ring.seal(text, this.#bound(row)) : text;
  }

  open(held: string, ...row: SealContext): string {
    return isSealed(held) ? this.ring.open(held, this.#bound(row)) : held;
  }

  #bound([column = "", ...key]: SealContext): SealContext {
    // The hash of a long text names it in every thread.
    if (column === "blobs") return ["thread", column, ...key];
    return ["thread", COPIED.test(String(column)) ? this.origin : this.threadId, column, ...key];
  }
}

/** One value of a row, as SQLite keeps it here. */
export type LongTextValue = string | number | null;

/** Bytes that a column holds itself. Three such columns and their keys fit a row of 2,000,000 bytes, also when they are sealed. */
const INLINE = { plain: 500_000, sealed: 450_000 };
/** Bytes of one part. Sealed it takes a third more. */
const PART = { plain: 1_900_000, sealed: 1_400_000 };
/** The first character of a reference. Long texts here are JSON, which has no raw control characters. */
const MARK = "\u0001";

/** The table `blobs`. */
interface Blobs {
  all: <T extends object>(statement: string, ...params: LongTextValue[]) => T[];
  insert: (table: "blobs", row: Record<string, LongTextValue>) => boolean;
  remove: (table: "blobs", key: { hash: LongTextValue }) => void;
}

export class LongTexts {
  constructor(
    private readonly blobs: Blobs,
    private readonly vault: TextVault,
  ) {}

  /** What a column of this row holds for a text: the text, sealed, or a reference to its parts, which are written at once. */
  store(text: string, ...row: LongTextValue[]): string {
    if (!exceeds(text, INLINE[this.#kind])) return this.vault.seal(text, ...row);
    const hash = this.vault.ring.hash(text);
    this.put(hash, text);
    return `${MARK}${hash}`;
  }

  /** The full text of a column of this row. */
  load(held: string, ...row: LongTextValue[]): string {
    return isReference(held) ? this.get(held.slice(1)) : this.vault.open(held, ...row);
  }

  /** A hash from which who can read the storage cannot confirm a guess of the text, where the workspace has a key. */
  hash(text: string): string {
    return this.vault.ring.hash(text);
  }

  get #kind(): keyof typeof PART {
    return this.vault.ring.isOn ? "sealed" : "plain";
  }

  /** Keeps a text under its content's hash, once. */
  put(hash: string, text: string): void {
    if (this.blobs.all("SELECT 1 FROM blobs WHERE hash = ? LIMIT 1", hash).length > 0) return;
    let part = 0;
    for (const body of splitText(text, PART[this.#kind])) {
      this.blobs.insert("blobs", { hash, part, body: this.vault.seal(body, "blobs", hash, part) });
      part += 1;
    }
  }

  /** Deletes the text of a column's only row that refers to it. */
  drop(held: LongTextValue): void {
    if (isReference(held)) this.blobs.remove("blobs", { hash: held.slice(1) });
  }

  /** Deletes all texts but those to which one of these values of columns refers. */
  keepOnly(held: LongTextValue[]): void {
    const used = new Set(held.filter(isReference).map((reference) => reference.slice(1)));
    for (const { hash } of this.blobs.all<{ hash: string }>("SELECT DISTINCT hash FROM blobs"))
      if (!used.has(hash)) this.blobs.remove("blobs", { hash });
  }

  /** The text of this hash; "" when there is none. */
  get(hash: string): string {
    const rows = this.blobs.all<{ part: number; body: string }>(
      "SELECT part, body FROM blobs WHERE hash = ? ORDER BY part",
      hash,
    );
    return rows.map(({ part, body }) => this.vault.open(body, "blobs", hash, part)).join("");
  }
}

/** Whether a column holds a reference. */
export const isReference = (held: LongTextValue): held is string => typeof held === "string" && held.startsWith(MARK);

/** Whether the text takes more than `size` bytes of UTF-8. A UTF-16 unit takes three at most. */
function exceeds(text: string, size: number): boolean {
  return text.length * 3 > size && Buffer.byteLength(text) > size;
}

/** Cuts a text into parts of at most `size` bytes of UTF-8, between characters: half a character would be lost. */
export function* splitText(text: string, size: number): Generator<string, void, void> {
  if (!exceeds(text, size)) return yield text;
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length;) {
    let end = Math.min(start + size, bytes.length);
    while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
    yield bytes.toString("utf8", start, end);
    start = end;
  }
}

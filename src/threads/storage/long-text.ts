/**
 * Texts of any length in columns that hold 2 MB. A long text is stored in `blobs`, in parts below that limit, and the
 * column holds a reference to it. Limits count bytes of UTF-8, because SQLite's limit does.
 */
import { createHash } from "node:crypto";

/** One value of a row, as SQLite keeps it here. */
export type Value = string | number | null;

/** Bytes that a column holds itself. Three such columns and their keys fit a row of 2,000,000 bytes. */
const INLINE = 500_000;
/** Bytes of one part. */
const PART = 1_900_000;
/** The first character of a reference. Long texts here are JSON, which has no raw control characters. */
const MARK = "\u0001";

/** The table `blobs`, with values as its columns hold them. */
interface Blobs {
  held: (statement: string, ...params: Value[]) => Record<string, Value>[];
  insertHeld: (table: "blobs", row: Record<string, Value>) => boolean;
  remove: (table: "blobs", key: { hash: Value }) => void;
}

export class LongTexts {
  constructor(private readonly blobs: Blobs) {}

  /** What a column holds for `value`: itself, or a reference to its parts, which are written at once. */
  readonly store = (value: Value): Value => {
    if (typeof value !== "string" || !exceeds(value, INLINE)) return value;
    const hash = createHash("sha256").update(value).digest("base64url");
    this.put(hash, value);
    return `${MARK}${hash}`;
  };

  /** The full value of a column. */
  load(held: Value): Value {
    return isReference(held) ? this.get(held.slice(1)) : held;
  }

  /** Keeps a text under its content's hash, once. */
  put(hash: string, text: string): void {
    if (this.blobs.held("SELECT 1 FROM blobs WHERE hash = ? LIMIT 1", hash).length > 0) return;
    let part = 0;
    for (const body of partsOf(text, PART)) this.blobs.insertHeld("blobs", { hash, part: part++, body });
  }

  /** Deletes the text of a column's only row that refers to it. */
  drop(held: Value): void {
    if (isReference(held)) this.blobs.remove("blobs", { hash: held.slice(1) });
  }

  /** Deletes all texts but those to which one of these values of columns refers. */
  keepOnly(held: Value[]): void {
    const used = new Set(held.filter(isReference).map((reference) => reference.slice(1)));
    for (const { hash = null } of this.blobs.held("SELECT DISTINCT hash FROM blobs"))
      if (!used.has(String(hash))) this.blobs.remove("blobs", { hash });
  }

  /** The text of this hash; "" when there is none. */
  get(hash: string): string {
    const rows = this.blobs.held("SELECT body FROM blobs WHERE hash = ? ORDER BY part", hash);
    return rows.map((row) => row.body).join("");
  }
}

const isReference = (held: Value): held is string => typeof held === "string" && held.startsWith(MARK);

/** Whether the text takes more than `size` bytes of UTF-8. A UTF-16 unit takes three at most. */
function exceeds(text: string, size: number): boolean {
  return text.length * 3 > size && Buffer.byteLength(text) > size;
}

/** Cuts a text into parts of at most `size` bytes of UTF-8, between characters: half a character would be lost. */
export function* partsOf(text: string, size: number): Generator<string, void, void> {
  if (!exceeds(text, size)) return yield text;
  const bytes = Buffer.from(text);
  for (let start = 0; start < bytes.length;) {
    let end = Math.min(start + size, bytes.length);
    while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
    yield bytes.toString("utf8", start, end);
    start = end;
  }
}

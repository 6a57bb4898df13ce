/**
 * Sets of grams: every five characters that follow each other in a text, as bits. A text that lacks one of a word's grams does
 * not have the word. ASCII letters have no case, as in `search`.
 */

export const GRAM = 5;
/** The bits of a set are split by the first four bits of their position, so that a question reads a few slices only. */
export const SLICES = 16;
const SLICE_BITS = 1 << 16;
/** Stored slices are ordered by their number, then by block. */
export const SLICE_ROWS = 2 ** 32;
/** A slice is halved while fewer bits of it are set. */
const SPARSE = 1 / 8;
const LEAST_BYTES = 64;

const BASE = 0x01000193;
const OLDEST = Array.from({ length: GRAM }).reduce<number>((power) => Math.imul(power, BASE), 1);

/** The position of each gram: the slice in bits 16 to 19, the bit of the slice below. */
function eachGram(text: string, visit: (position: number) => void): void {
  let hash = 0;
  let [a, b, c, d, e] = [0, 0, 0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    let next = text.charCodeAt(i);
    if (next >= 0x41 && next <= 0x5a) next += 0x20;
    hash = (Math.imul(hash, BASE) + next - Math.imul(a, OLDEST)) | 0;
    a = b;
    b = c;
    c = d;
    d = e;
    e = next;
    if (i < GRAM - 1) continue;
    const mixed = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
    visit((mixed ^ (mixed >>> 12)) >>> 12);
  }
}

/** The positions of a text's grams by slice. Empty when the text is shorter than a gram. */
export function splitGrams(text: string): Map<number, number[]> {
  const bySlice = new Map<number, number[]>();
  eachGram(text, (position) => {
    const slice = position >>> 16;
    bySlice.set(slice, [...(bySlice.get(slice) ?? []), position & 0xffff]);
  });
  return bySlice;
}

export function hasGrams(slice: Uint8Array, bits: number[]): boolean {
  const last = slice.byteLength * 8 - 1;
  return bits.every((bit) => ((slice[(bit & last) >>> 3] ?? 0) & (1 << (bit & 7))) !== 0);
}

/** Collects the grams of texts. One is used again and again, for it has 128 KB. */
export class GramSet {
  readonly #bits = new Uint8Array((SLICES * SLICE_BITS) / 8);
  readonly #set = (position: number) => {
    const at = position >>> 3;
    this.#bits[at] = (this.#bits[at] ?? 0) | (1 << (position & 7));
  };

  add(text: string): void {
    eachGram(text, this.#set);
  }

  clear(): void {
    this.#bits.fill(0);
  }

  /** The slice, as short as it can be while most of its bits are clear. */
  slice(slice: number): Uint8Array<ArrayBuffer> {
    const size = SLICE_BITS / 8;
    let bits = this.#bits.slice(slice * size, (slice + 1) * size);
    while (bits.byteLength > LEAST_BYTES && countBits(bits) < bits.byteLength * 8 * SPARSE) {
      const half = bits.byteLength / 2;
      const folded = bits.slice(0, half);
      for (let i = 0; i < half; i++) folded[i] = (folded[i] ?? 0) | (bits[half + i] ?? 0);
      bits = folded;
    }
    return bits;
  }
}

const ONES = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll("0", "").length);

function countBits(bytes: Uint8Array): number {
  let count = 0;
  for (const byte of bytes) count += ONES[byte] ?? 0;
  return count;
}

// The text of a run that the grams of a block index. Filters use the same words (candidates.ts).

/** The columns of a run whose whole value is known, each with the letter that marks it. */
const MARKS = {
  name: "n",
  run_type: "y",
  status: "s",
  thread_id: "h",
  parent_run_id: "p",
  reference_example_id: "x",
} as const;

export type MarkedColumn = keyof typeof MARKS;
export const MARKED = Object.keys(MARKS) as MarkedColumn[];

export function isMarked(column: string): column is MarkedColumn {
  return Object.hasOwn(MARKS, column);
}

/** The text of a whole value: the marks around it distinguish `step` from `steps`. */
export function markValue(column: MarkedColumn, value: string): string {
  return `\u0001${MARKS[column]}:${value}\u0002`;
}

/**
 * The columns whose text is known as it is stored. Tags, metadata and pairs are JSON as `JSON.stringify` writes it; inputs and
 * outputs are as their sender wrote them.
 */
export const RUN_TEXTS = ["error", "tags", "metadata"] as const;
export const PAYLOAD_TEXTS = ["inputs", "outputs", "input_pairs", "output_pairs"] as const;

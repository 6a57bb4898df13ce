/** The texts of one column of many runs, in one buffer. */

/** The texts of one column: UTF-8, each preceded by its length in 32 bits, little-endian, as Parquet has them. */
export interface Texts {
  bytes: Uint8Array<ArrayBuffer>;
  /** The length of each run's text, bytes; -1 where it has none, and then nothing of it is in `bytes`. */
  lengths: Int32Array;
}

/** Texts that grow by one run after the other. */
export class TextsBuilder {
  private readonly parts: { text: Uint8Array; owned: boolean }[] = [];
  private readonly lengths: number[] = [];
  private size = 0;

  /** `owned`: the text owns its buffer, and `build` frees it. V8 collects buffers late. */
  add(text: Uint8Array | null, owned: boolean): void {
    this.lengths.push(text === null ? -1 : text.length);
    if (text === null) return;
    this.parts.push({ text, owned });
    this.size += 4 + text.length;
  }

  build(): Texts {
    const bytes = new Uint8Array(this.size);
    let at = 0;
    for (const { text, owned } of this.parts) {
      at = putLength(bytes, at, text.length);
      bytes.set(text, at);
      at += text.length;
      if (owned) (text.buffer as ArrayBuffer).transfer(0);
    }
    return { bytes, lengths: Int32Array.from(this.lengths) };
  }
}

/** Writes a length in 32 bits, little-endian. Gives where it ends. */
export function putLength(bytes: Uint8Array, at: number, length: number): number {
  bytes[at] = length;
  bytes[at + 1] = length >>> 8;
  bytes[at + 2] = length >>> 16;
  bytes[at + 3] = length >>> 24;
  return at + 4;
}

/** The texts one by one, null where a run has none. */
export function* readTexts({ bytes, lengths }: Texts): Generator<Uint8Array | null> {
  let at = 0;
  for (const length of lengths) {
    if (length < 0) {
      yield null;
      continue;
    }
    yield bytes.subarray(at + 4, at + 4 + length);
    at += 4 + length;
  }
}

/** Texts of which each is behind room for its length, with those lengths, null where a run has none. */
export function layOut(bytes: Uint8Array<ArrayBuffer>, given: (number | null)[]): Texts {
  const lengths = new Int32Array(given.length);
  let at = 0;
  for (const [row, length] of given.entries()) {
    lengths[row] = length ?? -1;
    if (length !== null) at = putLength(bytes, at, length) + length;
  }
  return { bytes, lengths };
}

/** The texts of several parts of the runs. Frees the parts: V8 collects buffers late. */
export function joinTexts(parts: Texts[]): Texts {
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.bytes.length, 0));
  const lengths = new Int32Array(parts.reduce((sum, part) => sum + part.lengths.length, 0));
  let [at, row] = [0, 0];
  for (const part of parts) {
    bytes.set(part.bytes, at);
    lengths.set(part.lengths, row);
    at += part.bytes.length;
    row += part.lengths.length;
    part.bytes.buffer.transfer(0);
  }
  return { bytes, lengths };
}

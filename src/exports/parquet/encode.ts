/** Texts, and lists of texts, as Parquet's plain encoding or with a dictionary. */
import { ByteWriter } from "hyparquet-writer";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";
import { putLength, type Texts } from "../../traces/columns.ts";

// A column of a row group, ready to become the pages of a Parquet column chunk.

export interface EncodedColumn {
  /** The non-null values: plain, or as indexes into `dictionary`. */
  values: Uint8Array;
  dictionary?: { bytes: Uint8Array; count: number };
  /** Levels as the format's hybrid of runs and bits. A list has repetition levels too. */
  definition: Uint8Array;
  repetition?: Uint8Array;
  /** Values with nulls; more than the rows when it is a list. */
  count: number;
  nulls: number;
  /** The smallest and the largest value, where they are known. */
  min?: string | number | boolean;
  max?: string | number | boolean;
}

/** Small numbers as the format's hybrid of runs and bits. */
export function encodeHybrid(numbers: number[] | Uint8Array, bitWidth: number): Uint8Array {
  const writer = new ByteWriter();
  writeRleBitPackedHybrid(writer, numbers, bitWidth);
  return writer.getBytes();
}

/** The definition levels of a column that is no list: 1 where there is a value. */
export function definitionLevels(values: ArrayLike<unknown>, isPresent: (index: number) => boolean) {
  const levels = new Uint8Array(values.length);
  let nulls = values.length;
  for (let index = 0; index < levels.length; index++) {
    if (!isPresent(index)) continue;
    levels[index] = 1;
    nulls--;
  }
  return { definition: encodeHybrid(levels, 1), count: values.length, nulls };
}

const encoder = new TextEncoder();

/** Texts that the partition has laid out already. */
export function encodeLaidOut({ bytes, lengths }: Texts): EncodedColumn {
  return { ...definitionLevels(lengths, (index) => (lengths[index] as number) >= 0), values: bytes };
}

const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });

/** Texts that have been laid out and are all there, with the smallest and the largest by their bytes. */
export function encodeUnique(texts: Texts): EncodedColumn {
  const { bytes, lengths } = texts;
  const textAt = (at: number, length: number) => bytes.subarray(at + 4, at + 4 + length);
  let [at, min, max] = [0, 0, 0];
  let [minLength, maxLength] = [lengths[0] ?? 0, lengths[0] ?? 0];
  for (const length of lengths) {
    if (isBefore(bytes, at, length, min, minLength)) [min, minLength] = [at, length];
    else if (isBefore(bytes, max, maxLength, at, length)) [max, maxLength] = [at, length];
    at += 4 + length;
  }
  const bounds = { min: decoder.decode(textAt(min, minLength)), max: decoder.decode(textAt(max, maxLength)) };
  return { ...encodeLaidOut(texts), ...(lengths.length > 0 ? bounds : {}) };
}

/** Whether the text at one place is less than that at another. */
function isBefore(bytes: Uint8Array, one: number, oneLength: number, other: number, otherLength: number): boolean {
  const common = Math.min(oneLength, otherLength);
  for (let at = 4; at < 4 + common; at++) {
    const [a, b] = [bytes[one + at] as number, bytes[other + at] as number];
    if (a !== b) return a < b;
  }
  return oneLength < otherLength;
}

/** Short texts; a dictionary where few are different. */
export function encodeTexts(column: (string | null)[]): EncodedColumn {
  const levels = definitionLevels(column, (index) => column[index] !== null);
  return { ...levels, ...encodeValues(column.filter((value) => value !== null)) };
}

/** The same text in every row. */
export function encodeConstant(value: string, rows: number): EncodedColumn {
  const { values: bytes, ...bounds } = encodePlain([value]);
  const dictionary = { bytes, count: 1 };
  const levels = definitionLevels(new Uint8Array(rows), () => true);
  return { ...levels, values: encodeIndexes(new Uint8Array(rows), 1), dictionary, ...bounds };
}

/**
 * Lists of texts, from their JSON. An optional list of optional elements has the levels 3 for a text, 2 for a null in the
 * list, 1 for an empty list and 0 for none; a value that continues its row's list repeats at level 1.
 */
export function encodeLists(column: (string | null)[]): EncodedColumn {
  const definition: number[] = [];
  const repetition: number[] = [];
  const texts: string[] = [];
  for (const json of column) {
    const list = json === null || json === "[]" ? [] : (JSON.parse(json) as string[]);
    if (list.length === 0) {
      definition.push(json === null ? 0 : 1);
      repetition.push(0);
    }
    list.forEach((text, index) => {
      definition.push(3);
      repetition.push(index === 0 ? 0 : 1);
      texts.push(text);
    });
  }
  return {
    definition: encodeHybrid(definition, 2),
    repetition: encodeHybrid(repetition, 1),
    count: definition.length,
    nulls: definition.length - texts.length,
    ...encodeValues(texts),
  };
}

type Values = Pick<EncodedColumn, "values" | "dictionary" | "min" | "max">;

/** A dictionary is given up once it would hold more than a quarter of the values. */
function encodeValues(texts: string[]): Values {
  const most = texts.length / 4;
  const positionByText = new Map<string, number>();
  const indexes: number[] = [];
  for (const text of texts) {
    let index = positionByText.get(text);
    if (index === undefined) {
      if (positionByText.size >= most) return encodePlain(texts);
      index = positionByText.size;
      positionByText.set(text, index);
    }
    indexes.push(index);
  }
  if (positionByText.size === 0) return encodePlain(texts);
  const { values: bytes, ...bounds } = encodePlain([...positionByText.keys()]);
  return {
    values: encodeIndexes(indexes, positionByText.size),
    dictionary: { bytes, count: positionByText.size },
    ...bounds,
  };
}

/** Indexes into a dictionary of this size, behind the width of one. */
function encodeIndexes(indexes: number[] | Uint8Array, size: number): Uint8Array {
  const bitWidth = Math.ceil(Math.log2(size));
  const runs = encodeHybrid(indexes, bitWidth);
  const values = new Uint8Array(1 + runs.length);
  values[0] = bitWidth;
  values.set(runs, 1);
  return values;
}

/** Each text behind its length. The bounds are given where all is ASCII, for there UTF-16 sorts as UTF-8 does. */
function encodePlain(texts: string[]): Values {
  let most = 0;
  for (const text of texts) most += 4 + text.length * 3;
  const bytes = new Uint8Array(most);
  let at = 0;
  let ascii = true;
  let min = texts[0];
  let max = texts[0];
  for (const text of texts) {
    const length = putAscii(bytes, at + 4, text) ?? encoder.encodeInto(text, bytes.subarray(at + 4)).written;
    if (length !== text.length) ascii = false;
    if (min === undefined || text < min) min = text;
    if (max === undefined || text > max) max = text;
    at = putLength(bytes, at, length) + length;
  }
  const values = bytes.subarray(0, at);
  return ascii && texts.length > 0 ? { values, min, max } : { values };
}

/** Writes a text that is all ASCII and gives its length; faster than a `TextEncoder` call per id. */
function putAscii(bytes: Uint8Array, at: number, text: string): number | undefined {
  const { length } = text;
  for (let index = 0; index < length; index++) {
    const code = text.charCodeAt(index);
    if (code > 127) return undefined;
    bytes[at + index] = code;
  }
  return length;
}

// Numbers and truth values as Parquet's plain encoding.

type Numbers = (number | null)[];

const HALF = 2 ** 32;

/** 64-bit integers, from numbers that are whole or become so. */
export function encodeIntegers(column: Numbers): EncodedColumn {
  return encodeEight(column, (view, at, value) => {
    const whole = Math.trunc(value);
    view.setUint32(at, whole >>> 0, true);
    view.setInt32(at + 4, Math.floor(whole / HALF), true);
    return whole;
  });
}

export function encodeDoubles(column: Numbers): EncodedColumn {
  return encodeEight(column, (view, at, value) => {
    view.setFloat64(at, value, true);
    return value;
  });
}

/** Eight bytes a value. `put` writes one and returns the stored value. */
function encodeEight(column: Numbers, put: (view: DataView, at: number, value: number) => number): EncodedColumn {
  const levels = definitionLevels(column, (index) => column[index] !== null);
  const values = new Uint8Array((levels.count - levels.nulls) * 8);
  const view = new DataView(values.buffer);
  let at = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const value of column) {
    if (value === null) continue;
    const written = put(view, at, value);
    if (written < min) min = written;
    if (written > max) max = written;
    at += 8;
  }
  return { ...levels, values, ...(at > 0 ? { min, max } : {}) };
}

/** One bit a value. */
export function encodeBooleans(column: Numbers): EncodedColumn {
  const levels = definitionLevels(column, (index) => column[index] !== null);
  const values = new Uint8Array(Math.ceil((levels.count - levels.nulls) / 8));
  let at = 0;
  for (const value of column) {
    if (value === null) continue;
    if (value !== 0) values[at >> 3] = (values[at >> 3] ?? 0) | (1 << (at & 7));
    at++;
  }
  const present = column.filter((value) => value !== null);
  const bounds = { min: !present.includes(0), max: present.some((value) => value !== 0) };
  return { ...levels, values, ...(at > 0 ? bounds : {}) };
}

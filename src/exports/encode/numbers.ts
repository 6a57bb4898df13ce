/** Numbers and truth values as Parquet's plain encoding. */
import { type Encoded, definitionLevels } from "./encoded.ts";

type Numbers = (number | null)[];

const HALF = 2 ** 32;

/** 64-bit integers, from numbers that are whole or become so. */
export function encodeIntegers(column: Numbers): Encoded {
  return encodeEight(column, (view, at, value) => {
    const whole = Math.trunc(value);
    view.setUint32(at, whole >>> 0, true);
    view.setInt32(at + 4, Math.floor(whole / HALF), true);
    return whole;
  });
}

export function encodeDoubles(column: Numbers): Encoded {
  return encodeEight(column, (view, at, value) => {
    view.setFloat64(at, value, true);
    return value;
  });
}

/** Eight bytes a value. `put` writes one and returns the stored value. */
function encodeEight(column: Numbers, put: (view: DataView, at: number, value: number) => number): Encoded {
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
export function encodeBooleans(column: Numbers): Encoded {
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

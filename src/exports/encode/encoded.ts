/** A column of a row group, ready to become the pages of a Parquet column chunk. */
import { ByteWriter } from "hyparquet-writer";
import { writeRleBitPackedHybrid } from "hyparquet-writer/src/encoding.js";

export interface Encoded {
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

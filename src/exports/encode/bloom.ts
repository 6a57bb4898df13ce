/**
 * Bloom filters of columns of ids: a reader that looks for one id reads only the row groups that can hold it. The format is the
 * split block filter of https://github.com/apache/parquet-format/blob/master/BloomFilter.md
 */
import { createBloomFilter } from "hyparquet-writer/src/bloom.js";
import type { Encoded } from "./encoded.ts";
import { type Hash, xxhash64 } from "./xxhash.ts";

/** One bit of each of the eight words of a block is set for a value. */
const SALT = Uint32Array.of(
  0x47b6137b,
  0x44974d91,
  0x8824ad5b,
  0xa2b7289d,
  0x705495c7,
  0x2df1424b,
  0x9efc4947,
  0x5c6bfb31,
);
const WORDS = SALT.length;
/** Of a hundred ids that are not in a row group, about one is looked for there. */
const FALSE_POSITIVES = 0.01;

/** The filter of a column of texts; undefined when it has none. */
export function bloomOf({ values, dictionary, count, nulls }: Encoded): Uint32Array | undefined {
  const bytes = dictionary?.bytes ?? values;
  const distinct = dictionary?.count ?? count - nulls;
  if (distinct === 0) return undefined;
  const filter = createBloomFilter(distinct, FALSE_POSITIVES);
  const blocks = filter.length / WORDS;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const hash: Hash = { high: 0, low: 0 };
  // Each text is preceded by its length.
  for (let at = 0; at < bytes.byteLength;) {
    const length = view.getUint32(at, true);
    xxhash64(view, at + 4, length, hash);
    insert(filter, blocks, hash);
    at += 4 + length;
  }
  return filter;
}

function insert(filter: Uint32Array, blocks: number, { high, low }: Hash): void {
  const block = Math.floor(((high >>> 0) * blocks) / 2 ** 32) * WORDS;
  for (let word = 0; word < WORDS; word++) {
    const bit = Math.imul(low, SALT[word] as number) >>> 27;
    filter[block + word] = (filter[block + word] as number) | (1 << bit);
  }
}

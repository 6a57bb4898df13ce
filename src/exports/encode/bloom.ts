/**
 * Bloom filters of columns of ids: a reader that looks for one id reads only the row groups that can hold it. The format is the
 * split block filter of https://github.com/apache/parquet-format/blob/master/BloomFilter.md
 */
import { createBloomFilter } from "hyparquet-writer/src/bloom.js";
import xxhash, { type XXHashAPI } from "xxhash-wasm";
import type { Encoded } from "./encoded.ts";

/** Parquet's bloom filters hash with XXH64, seed 0. */
export type Hasher = XXHashAPI;

let loading: Promise<Hasher> | undefined;

/** The hash, as WebAssembly: JavaScript has no fast 64-bit multiplication, and it took an eighth of what a row costs. */
export function loadHasher(): Promise<Hasher> {
  return (loading ??= xxhash());
}

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
export function buildBloomFilter(
  { values, dictionary, count, nulls }: Encoded,
  hasher: Hasher,
): Uint32Array | undefined {
  const bytes = dictionary?.bytes ?? values;
  const distinct = dictionary?.count ?? count - nulls;
  if (distinct === 0) return undefined;
  const filter = createBloomFilter(distinct, FALSE_POSITIVES);
  const blocks = filter.length / WORDS;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  // Each text is preceded by its length.
  for (let at = 0; at < bytes.byteLength;) {
    const length = view.getUint32(at, true);
    insert(filter, blocks, hasher.h64Raw(bytes.subarray(at + 4, at + 4 + length)));
    at += 4 + length;
  }
  return filter;
}

function insert(filter: Uint32Array, blocks: number, hash: bigint): void {
  const [high, low] = [Number(hash >> 32n), Number(hash & 0xffffffffn)];
  const block = Math.floor((high * blocks) / 2 ** 32) * WORDS;
  for (let word = 0; word < WORDS; word++) {
    const bit = Math.imul(low, SALT[word] as number) >>> 27;
    filter[block + word] = (filter[block + word] as number) | (1 << bit);
  }
}

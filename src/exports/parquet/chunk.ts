/** One column of one row group in the file: its dictionary, one page of data, and what the footer says of it. */
import type { ColumnChunk, CompressionCodec, SchemaElement } from "hyparquet";
import type { Writer } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import type { EncodedColumn } from "./encode.ts";
import { createBloomFilter } from "hyparquet-writer/src/bloom.js";
import xxhash, { type XXHashAPI } from "xxhash-wasm";
import { constants, gzipSync, zstdCompressSync } from "node:zlib";
import { snappyCompress } from "hyparquet-writer/src/snappy.js";

export interface ChunkColumn {
  /** Its element of the schema, and the names that lead there. */
  element: SchemaElement;
  path: string[];
  rows: number;
  codec: CompressionCodec;
  compress: (bytes: Uint8Array) => Uint8Array;
}

export function writeChunk(sink: Writer, column: ChunkColumn, encoded: EncodedColumn): ColumnChunk {
  const { element, path, codec } = column;
  if (!element.type) throw new Error(`column ${path.join(".")} has no type`);
  const start = sink.offset;
  const { dictionary, count, nulls, min, max } = encoded;
  let uncompressed = 0;
  if (dictionary) uncompressed += writeDictionary(sink, column, dictionary);
  const dataStart = sink.offset;
  uncompressed += writeData(sink, column, encoded);
  return {
    file_offset: BigInt(start),
    meta_data: {
      type: element.type,
      encodings: dictionary ? ["PLAIN", "RLE", "RLE_DICTIONARY"] : ["PLAIN", "RLE"],
      path_in_schema: path,
      codec,
      num_values: BigInt(count),
      total_uncompressed_size: BigInt(uncompressed),
      total_compressed_size: BigInt(sink.offset - start),
      data_page_offset: BigInt(dataStart),
      dictionary_page_offset: dictionary ? BigInt(start) : undefined,
      statistics: {
        null_count: BigInt(nulls),
        ...(min === undefined ? {} : { min_value: min, max_value: max }),
      },
    },
  };
}

/** Gives the bytes it would take without compression. */
function writeDictionary(
  sink: Writer,
  { compress }: ChunkColumn,
  { bytes, count }: NonNullable<EncodedColumn["dictionary"]>,
): number {
  const compressed = compress(bytes);
  const start = sink.offset;
  writePageHeader(sink, {
    type: "DICTIONARY_PAGE",
    uncompressed_page_size: bytes.length,
    compressed_page_size: compressed.length,
    dictionary_page_header: { num_values: count, encoding: "PLAIN" },
  });
  const header = sink.offset - start;
  sink.appendBytes(compressed);
  return header + bytes.length;
}

/** The platform makes a new compressor for each call, and that costs more than these bytes do. A column of nulls has none. */
const WORTH_COMPRESSING = 64;

/** Gives the bytes it would take without compression. */
function writeData(sink: Writer, { rows, compress }: ChunkColumn, encoded: EncodedColumn): number {
  const { values, definition, repetition = new Uint8Array(), count, nulls, dictionary } = encoded;
  const isCompressed = values.length >= WORTH_COMPRESSING;
  const compressed = isCompressed ? compress(values) : values;
  const levels = repetition.length + definition.length;
  const start = sink.offset;
  writePageHeader(sink, {
    type: "DATA_PAGE_V2",
    uncompressed_page_size: levels + values.length,
    compressed_page_size: levels + compressed.length,
    data_page_header_v2: {
      num_values: count,
      num_nulls: nulls,
      num_rows: rows,
      encoding: dictionary ? "RLE_DICTIONARY" : "PLAIN",
      definition_levels_byte_length: definition.length,
      repetition_levels_byte_length: repetition.length,
      is_compressed: isCompressed,
    },
  });
  const header = sink.offset - start;
  sink.appendBytes(repetition);
  sink.appendBytes(definition);
  sink.appendBytes(compressed);
  return header + levels + values.length;
}

// Bloom filters of columns of ids: a reader that looks for one id reads only the row groups that can hold it. The format is the
// split block filter of https://github.com/apache/parquet-format/blob/master/BloomFilter.md

/** Parquet's bloom filters hash with XXH64, seed 0. */
export type Hasher = XXHashAPI;

let loading: Promise<Hasher> | undefined;

/** The hash, as WebAssembly: JavaScript has no fast 64-bit multiplication. */
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
  { values, dictionary, count, nulls }: EncodedColumn,
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

// Compression of Parquet pages.

/** The names that `compression` may have on the wire, and Parquet's names for them. */
export const CODECS = {
  none: "UNCOMPRESSED",
  gzip: "GZIP",
  snappy: "SNAPPY",
  zstandard: "ZSTD",
} as const satisfies Record<string, CompressionCodec>;

export type Compression = keyof typeof CODECS;

/**
 * gzip at level 1: a third of the time of level 6 for a sixth more bytes. zstd at level 1: half the time of level 3 for a
 * fiftieth more.
 */
export const COMPRESSORS: Record<Compression, (bytes: Uint8Array) => Uint8Array> = {
  none: (bytes) => bytes,
  gzip: (bytes) => gzipSync(bytes, { level: 1 }),
  snappy: snappyCompress,
  zstandard: (bytes) => zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
};

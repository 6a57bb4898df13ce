/** One column of one row group in the file: its dictionary, one page of data, and what the footer says of it. */
import type { ColumnChunk, CompressionCodec, SchemaElement } from "hyparquet";
import type { Writer } from "hyparquet-writer";
import { writePageHeader } from "hyparquet-writer/src/datapage.js";
import type { Encoded } from "../encode/encoded.ts";

export interface ChunkColumn {
  /** Its element of the schema, and the names that lead there. */
  element: SchemaElement;
  path: string[];
  rows: number;
  codec: CompressionCodec;
  compress: (bytes: Uint8Array) => Uint8Array;
}

export function writeChunk(sink: Writer, column: ChunkColumn, encoded: Encoded): ColumnChunk {
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
  { bytes, count }: NonNullable<Encoded["dictionary"]>,
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
function writeData(sink: Writer, { rows, compress }: ChunkColumn, encoded: Encoded): number {
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

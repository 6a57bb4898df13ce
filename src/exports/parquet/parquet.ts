/**
 * Pages of runs as one Parquet file, each page a row group. The columns are written here and not by hyparquet-writer, whose
 * format and footer they use: it takes values one by one, and a page has them laid out already.
 */
import type { ColumnChunk, RowGroup, SchemaElement } from "hyparquet";
import type { Writer } from "hyparquet-writer";
import { writeBloomFilter } from "hyparquet-writer/src/bloom.js";
import { writeMetadata } from "hyparquet-writer/src/metadata.js";
import { isConstant, isPayload, isUnique, type LightField, type RunPage, type Texts } from "../../traces/columns.ts";
import type { PayloadField } from "../../traces/types.ts";
import { CODECS, type Compression, COMPRESSORS, buildBloomFilter, loadHasher, writeChunk } from "./chunk.ts";
import { type ExportField, hasBloom, columnKind, findLeaf, parquetSchema, sortingColumns } from "./columns.ts";
import {
  type EncodedColumn,
  encodeBooleans,
  encodeDoubles,
  encodeIntegers,
  encodeConstant,
  encodeLaidOut,
  encodeLists,
  encodeTexts,
  encodeUnique,
} from "./encode.ts";

type Resolve = (page: RunPage, field: PayloadField) => Promise<Texts | undefined>;

const noPause = (): Promise<void> => Promise.resolve();

const asGiven: Resolve = async ({ payloads }, field) => payloads[field];

/** "PAR1", which begins and ends a file. */
const MAGIC = 0x31524150;

export class RunFile {
  private readonly schema: SchemaElement[];
  private readonly groups: RowGroup[] = [];
  /** Rows and bytes of text taken so far. */
  rows = 0;
  textBytes = 0;

  /** `sink.flush` is awaited after each column, so a slow store slows down the reader. */
  constructor(
    private readonly sink: Writer,
    private readonly fields: readonly ExportField[],
    private readonly compression: Compression,
  ) {
    this.schema = parquetSchema(fields);
    sink.appendUint32(MAGIC);
  }

  /**
   * Writes a page as a row group. `resolve` returns one payload column at a time, and its buffer is freed after it is
   * written. Only one payload column is in memory. `pause` is awaited after each column that takes long to compress.
   */
  async add(page: RunPage, resolve = asGiven, pause = noPause): Promise<void> {
    if (page.rows === 0) return;
    const start = this.sink.offset;
    const hasher = await loadHasher();
    const columns: ColumnChunk[] = [];
    const blooms: { chunk: ColumnChunk; filter: Uint32Array }[] = [];
    for (const field of this.fields) {
      if (isPayload(field)) {
        const texts = (await resolve(page, field)) ?? throwMissing(field);
        columns.push(this.write(field, page.rows, encodeLaidOut(texts)));
        // Freed at once: V8 collects buffers late, and an isolate has 128 MB.
        texts.bytes.buffer.transfer(0);
        await pause();
      } else {
        const encoded = encode(page, field);
        const chunk = this.write(field, page.rows, encoded);
        columns.push(chunk);
        const filter = hasBloom(field) ? buildBloomFilter(encoded, hasher) : undefined;
        if (filter) blooms.push({ chunk, filter });
      }
      await this.sink.flush?.();
    }
    this.groups.push({
      columns,
      num_rows: BigInt(page.rows),
      total_byte_size: columns.reduce((sum, { meta_data }) => sum + (meta_data?.total_uncompressed_size ?? 0n), 0n),
      total_compressed_size: BigInt(this.sink.offset - start),
      sorting_columns: sortingColumns(this.fields),
    });
    for (const { chunk, filter } of blooms) this.writeBloom(chunk, filter);
    this.rows += page.rows;
    this.textBytes += page.bytes;
  }

  private write(field: ExportField, rows: number, encoded: EncodedColumn): ColumnChunk {
    const { compression } = this;
    const how = { codec: CODECS[compression], compress: COMPRESSORS[compression] };
    return writeChunk(this.sink, { ...findLeaf(field), rows, ...how }, encoded);
  }

  /** Behind its row group: kept until the footer, the filters of a file would take some megabytes. */
  private writeBloom({ meta_data }: ColumnChunk, filter: Uint32Array): void {
    const offset = this.sink.offset;
    writeBloomFilter(this.sink, filter);
    if (!meta_data) return;
    meta_data.bloom_filter_offset = BigInt(offset);
    meta_data.bloom_filter_length = this.sink.offset - offset;
  }

  /** Writes the footer. */
  async finish(): Promise<void> {
    writeMetadata(this.sink, {
      version: 2,
      created_by: "weir",
      schema: this.schema,
      num_rows: BigInt(this.rows),
      row_groups: this.groups,
      metadata_length: 0,
    });
    this.sink.appendUint32(MAGIC);
    await this.sink.finish();
  }
}

/** Encodes a column that holds no payloads. */
function encode(page: RunPage, field: Exclude<ExportField, PayloadField>): EncodedColumn {
  if (isConstant(field)) {
    const own = field === "trace_tier" ? page.light[field] : undefined;
    return own ? encodeTexts(JSON.parse(own) as string[]) : encodeConstant(page.constants[field], page.rows);
  }
  if (isUnique(field)) return encodeUnique(page.unique[field] ?? throwMissing(field));
  const column: unknown = JSON.parse(page.light[field satisfies LightField] ?? throwMissing(field));
  switch (columnKind(field)) {
    case "text":
      return encodeTexts(column as (string | null)[]);
    case "texts":
      return encodeLists(column as (string | null)[]);
    case "time":
    case "integer":
      return encodeIntegers(column as (number | null)[]);
    case "double":
      return encodeDoubles(column as (number | null)[]);
    case "boolean":
      return encodeBooleans(column as (number | null)[]);
  }
}

function throwMissing(field: string): never {
  throw new Error(`the page has no column ${field}`);
}

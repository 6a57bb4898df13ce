/** A stream of runs as one Parquet file, in row groups bounded by bytes. */
import { ParquetWriter, type Writer } from "hyparquet-writer";
import type { DecodedArray } from "hyparquet";
import { PAYLOAD_FIELDS, type StoredRun } from "../traces/rpc.ts";
import { CODECS, type Compression, COMPRESSORS } from "./codecs.ts";
import { columnValue, type ExportField, parquetSchema } from "./columns.ts";

/** A row group is written when it passes this many bytes of text: it and its encoded copy must fit 128 MB many times. */
const GROUP_BYTES = 4 * 1024 * 1024;
const GROUP_ROWS = 5_000;
/** What a run weighs besides its long texts, bytes. */
const RUN_BASE_BYTES = 600;

export class RunFile {
  private readonly writer: ParquetWriter;
  private columns: unknown[][];
  private groupRows = 0;
  private groupBytes = 0;
  /** Rows and bytes of text taken so far. */
  rows = 0;
  textBytes = 0;

  /** `sink.flush` is awaited after each row group, so a slow store holds the reader back. */
  constructor(
    sink: Writer,
    private readonly fields: readonly ExportField[],
    compression: Compression,
  ) {
    this.writer = new ParquetWriter({
      writer: sink,
      schema: parquetSchema(fields),
      codec: CODECS[compression],
      compressors: COMPRESSORS,
      createdBy: "weir",
    });
    this.columns = fields.map(() => []);
  }

  async add(run: StoredRun): Promise<void> {
    this.fields.forEach((field, index) => this.columns[index]?.push(columnValue(run, field)));
    const bytes = sizeOf(run);
    this.groupRows++;
    this.groupBytes += bytes;
    this.rows++;
    this.textBytes += bytes;
    if (this.groupBytes >= GROUP_BYTES || this.groupRows >= GROUP_ROWS) await this.writeGroup();
  }

  /** Writes what is left and the footer. */
  async finish(): Promise<void> {
    if (this.groupRows > 0) await this.writeGroup();
    await this.writer.finish();
  }

  private async writeGroup(): Promise<void> {
    const columnData = this.fields.map((name, index) => ({ name, data: this.columns[index] as DecodedArray }));
    const rowGroupSize = this.groupRows;
    this.columns = this.fields.map(() => []);
    this.groupRows = 0;
    this.groupBytes = 0;
    await this.writer.write({ columnData, rowGroupSize });
  }
}

/** About the bytes a run takes in a row group. */
function sizeOf(run: StoredRun): number {
  let bytes = RUN_BASE_BYTES + (run.feedback_stats?.length ?? 0) + (run.feedbacks?.length ?? 0);
  for (const field of PAYLOAD_FIELDS) bytes += run[field]?.length ?? 0;
  return bytes;
}

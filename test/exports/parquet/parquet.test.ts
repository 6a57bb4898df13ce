import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { parquetMetadata, parquetReadObjects, type SchemaElement } from "hyparquet";
import { hashParquetValue, readBloomFilter, sbbfContains } from "hyparquet/src/bloom.js";
import { ByteWriter } from "hyparquet-writer";
import { describe, expect, it } from "vitest";
import { CODECS, type Compression } from "../../../src/exports/parquet/chunk.ts";
import { DEFAULT_FIELDS, EXPORT_FIELDS, type ExportField } from "../../../src/exports/parquet/columns.ts";
import { RunFile } from "../../../src/exports/parquet/parquet.ts";
import type { StoredTraceRun } from "../../../src/traces/types.ts";
import { columnValue, toPage } from "../../support/pages.ts";
import { makeRuns } from "../../support/runs.ts";

const MANY = makeRuns({
  tenantId: "00000000-0000-4000-8000-000000000001",
  projectId: "00000000-0000-4000-8000-000000000002",
  from: 1_700_000_000_123_456,
  spread: 1e9,
  count: 2_500,
  seed: 1,
  size: 4_000,
});
const PAGE = 700;
const compressors = {
  GZIP: (bytes: Uint8Array) => new Uint8Array(gunzipSync(bytes)),
  ZSTD: (bytes: Uint8Array) => new Uint8Array(zstdDecompressSync(bytes)),
};
/** Times as bigint microseconds, so that nothing is rounded away. */
const parsers = { timestampFromMicroseconds: (micros: bigint) => micros };

async function writeParquet(runs: StoredTraceRun[], fields: readonly ExportField[], compression: Compression) {
  const sink = new ByteWriter();
  const file = new RunFile(sink, fields, compression);
  for (let at = 0; at < runs.length; at += PAGE) await file.add(toPage(runs.slice(at, at + PAGE)));
  await file.finish();
  return sink.getBuffer();
}

describe.for(Object.keys(CODECS) as Compression[])("a file compressed with %s", (compression) => {
  it("reads back as it was written, row groups bounded", async () => {
    const buffer = await writeParquet(MANY, DEFAULT_FIELDS, compression);
    const rows = await parquetReadObjects({ file: buffer, compressors, parsers });
    const expected = MANY.map((run) =>
      Object.fromEntries(DEFAULT_FIELDS.map((field) => [field, columnValue(run, field)])),
    );
    expect(rows.length).toBe(MANY.length);
    rows.forEach((row, index) => expect(row).toEqual(expected[index]));
    const groups = parquetMetadata(buffer).row_groups;
    expect(groups.length).toBeGreaterThan(1);
    for (const group of groups) expect(Number(group.total_byte_size)).toBeLessThan(8 * 1024 * 1024);
  });

  it("holds columns that are null in every row, and no rows at all", async () => {
    const [run] = MANY as [StoredTraceRun];
    const empty = {
      ...run,
      outputs: null,
      error: null,
      total_cost: null,
      end_time: null,
      tags: [],
      parent_run_ids: [],
    };
    const rows = await parquetReadObjects({
      file: await writeParquet([empty], DEFAULT_FIELDS, compression),
      compressors,
    });
    expect(rows[0]).toMatchObject({ id: run.id, outputs: null, total_cost: null, end_time: null, tags: [] });
    expect(
      await parquetReadObjects({ file: await writeParquet([], DEFAULT_FIELDS, compression), compressors }),
    ).toEqual([]);
  });
});

describe("the schema", () => {
  it("is the same for all data", async () => {
    const one = parquetMetadata(await writeParquet(MANY, EXPORT_FIELDS, "zstandard"));
    const none = parquetMetadata(await writeParquet([], EXPORT_FIELDS, "none"));
    expect(one.schema).toEqual(none.schema);
    expect(one.schema.find(({ name }) => name === "start_time")).toMatchObject({
      type: "INT64",
      logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" },
    });
  });

  it("has only the chosen columns, and statistics that bound them", async () => {
    const metadata = parquetMetadata(await writeParquet(MANY, ["start_time", "total_tokens"], "snappy"));
    expect(metadata.schema.map(({ name }) => name)).toEqual(["root", "start_time", "total_tokens"]);
    const statistics = metadata.row_groups[0]?.columns[0]?.meta_data?.statistics;
    expect(statistics?.min_value).toEqual(new Date(Math.floor((MANY[0]?.start_time ?? 0) / 1000)));
  });

  it("has bounds of texts by their bytes in UTF-8, where a character outside the BMP is behind all others", async () => {
    const orders = ["\uFF5E", "b", "🌊", "ab", "a", "é"];
    const runs = orders.map((dotted_order, i) => ({ ...(MANY[i] as StoredTraceRun), dotted_order }));
    const metadata = parquetMetadata(await writeParquet(runs, ["dotted_order"], "zstandard"));
    const statistics = metadata.row_groups.map(({ columns }) => columns[0]?.meta_data?.statistics);
    expect(statistics).toMatchObject([{ min_value: "a", max_value: "🌊", null_count: 0n }]);
  });
});

describe("a row group", () => {
  it("has bloom filters of its ids, in a dictionary or not, that know each of them and few others", async () => {
    const odd = MANY.map((run, i) => ({ ...run, id: i % 3 === 0 ? `${"文".repeat(i % 50)}${i}` : run.id }));
    const runs = odd.map((run, i) => ({ ...run, trace_id: (odd[i - (i % 20)] as StoredTraceRun).id }));
    const buffer = await writeParquet(runs, DEFAULT_FIELDS, "zstandard");
    const view = new DataView(buffer);
    const { row_groups, schema } = parquetMetadata(buffer);
    expect(row_groups.length).toBeGreaterThan(1);
    for (const [n, group] of row_groups.entries()) {
      const own = runs.slice(n * PAGE, (n + 1) * PAGE);
      const filtered = group.columns.filter(({ meta_data }) => meta_data?.bloom_filter_offset !== undefined);
      expect(filtered.map(({ meta_data }) => meta_data?.path_in_schema)).toEqual([["id"], ["trace_id"]]);
      for (const { meta_data } of filtered) {
        const filter = readBloomFilter({ view, offset: Number(meta_data?.bloom_filter_offset) });
        const name = meta_data?.path_in_schema[0] as "id" | "trace_id";
        const element = schema.find((one) => one.name === name) as SchemaElement;
        const holds = (id: string) =>
          sbbfContains(filter?.blocks ?? Uint32Array.of(), hashParquetValue(id, element) ?? 0n);
        expect(own.filter((run) => !holds(run[name]))).toEqual([]);
        const others = Array.from({ length: 1_000 }, (_, i) => `absent ${i}`);
        expect(others.filter(holds).length).toBeLessThan(30);
      }
    }
  });

  it("says in which order its rows are, as far as its columns tell", async () => {
    const readSorting = async (fields: ExportField[]) => {
      const [group] = parquetMetadata(await writeParquet(MANY, fields, "none")).row_groups;
      return group?.sorting_columns?.map(({ column_idx, descending }) => [fields[column_idx], descending]);
    };
    expect(await readSorting([...DEFAULT_FIELDS])).toEqual([
      ["start_time", false],
      ["id", false],
    ]);
    expect(await readSorting(["parent_run_ids", "start_time"])).toEqual([["start_time", false]]);
    expect(await readSorting(["id", "name"])).toBeUndefined();
  });
});

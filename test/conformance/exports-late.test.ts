/** The query of docs/exports-reading.md over the exports of a schedule, as DuckDB runs it. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, it } from "vitest";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-late-"));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const FILES: Record<string, [id: string, name: string][]> = {
  "export_id=1/session_id=p/runs/year=2026/month=1/day=1/part-00000.parquet": [
    ["a", "first"],
    ["b", "first"],
  ],
  "export_id=1/session_id=p/runs/year=2026/month=1/day=1/part-s01-00000.parquet": [["c", "first"]],
  "export_id=2/session_id=p/runs/year=2026/month=1/day=1/late-2-00000.parquet": [
    ["a", "second"],
    ["d", "second"],
  ],
  "export_id=2/session_id=p/runs/year=2026/month=1/day=1/late-2-s01-00000.parquet": [["c", "second"]],
  // As text, "10" sorts before "2".
  "export_id=3/session_id=p/runs/year=2026/month=1/day=1/late-10-00000.parquet": [["a", "tenth"]],
};

it("gives each run once, as it was exported last", async () => {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  for (const [path, rows] of Object.entries(FILES)) {
    mkdirSync(join(folder, path, ".."), { recursive: true });
    const values = rows.map(([id, name]) => `('${id}', '${name}')`).join(", ");
    await connection.run(`COPY (FROM (VALUES ${values}) v(id, name)) TO '${join(folder, path)}' (FORMAT parquet)`);
  }
  const page = readFileSync("docs/exports-reading.md", "utf8");
  const query = /```sql\n(SELECT \* EXCLUDE \(filename, k\)[^`]*?)```/.exec(page)?.[1];
  expect(query).toContain("s3://my-bucket/weir/");
  const ours = (query ?? "").replace("s3://my-bucket/weir/", `${folder}/`).replace(/;\s*$/, "");
  const found = await connection.runAndReadAll(`SELECT id, name FROM (${ours}) ORDER BY id`);
  expect(found.getRows()).toEqual([
    ["a", "tenth"],
    ["b", "first"],
    ["c", "second"],
    ["d", "second"],
  ]);
});

/** Writes a dataset as a file, page by page: it may be larger than the memory. */
import { database } from "../../../db/client.ts";
import { openBlobs } from "../../../access/encryption/blobs.ts";
import { isObject, parseExact } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { blobKey } from "../../review/examples/bodies.ts";
import { type ExampleRow, listExamples } from "../../review/examples/store.ts";
import type { DatasetRow } from "../store.ts";
import { CsvColumns, evalLine, jsonLine, tuningLine, type WholeExample } from "../../review/files/download.ts";

const LINES = { jsonl: jsonLine, openai: evalLine, openai_ft: tuningLine };
export type Format = keyof typeof LINES | "csv";

/** Rows of D1 read at once: at most 6.4 MB with bodies that are in the rows. */
const PAGE = 100;

interface Writer {
  header?: string;
  line: (example: WholeExample) => string;
}

/** How a version of the dataset is written in this format. @throws Problem 422 */
export async function createWriter(env: Env, dataset: DatasetRow, format: Format, asOf: number): Promise<Writer> {
  if (format !== "csv") return { line: LINES[format] };
  const columns = await readColumns(env, dataset, asOf);
  return { header: columns.header(), line: (example) => columns.line(example) };
}

/** The bytes of the file. `asOf`: the version; changes after it do not appear. */
export async function* writeFile(
  env: Env,
  dataset: DatasetRow,
  { header, line }: Writer,
  asOf: number,
): AsyncGenerator<Uint8Array, void, void> {
  const encoder = new TextEncoder();
  if (header !== undefined) yield encoder.encode(header);
  for await (const example of readExamples(env, dataset, asOf)) yield encoder.encode(line(example));
}

/** The header comes before the rows, so CSV reads the examples twice. @throws Problem 422 */
async function readColumns(env: Env, dataset: DatasetRow, asOf: number): Promise<CsvColumns> {
  const columns = new CsvColumns();
  for await (const example of readExamples(env, dataset, asOf)) {
    if (columns.add(example)) continue;
    throw new Problem(422, `The examples have more than ${CsvColumns.MOST} members. Download them as jsonl.`);
  }
  return columns;
}

/** The examples of a version, newest first. */
async function* readExamples(env: Env, { workspaceId, id }: DatasetRow, asOf: number): AsyncGenerator<WholeExample> {
  let after: ExampleRow | undefined;
  for (;;) {
    const wanted = { dataset: id, asOf, limit: PAGE, offset: 0, ...(after && { after }) };
    const rows = await listExamples(database(env.DB), workspaceId, wanted);
    for (const row of rows) {
      const { id, name, metadata } = row;
      yield {
        id,
        name,
        metadata,
        inputs: (await readBody(env, row, "inputs")) ?? {},
        outputs: await readBody(env, row, "outputs"),
      };
    }
    after = rows.at(-1);
    if (rows.length < PAGE) return;
  }
}

async function readBody(
  env: Env,
  row: ExampleRow,
  part: "inputs" | "outputs",
): Promise<Record<string, unknown> | null> {
  const hash = row[`${part}Hash`];
  const text = hash ? await (await openBlobs(env).get(blobKey(row, hash)))?.text() : row[part];
  const body = text ? parseExact(text) : null;
  return isObject(body) ? body : null;
}

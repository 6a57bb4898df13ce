/** The rows of an uploaded file: CSV with a header, JSON Lines, or a JSON list. */
import { decodeJson, isObject, NESTING, nestsDeeper, parseJson } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { EXAMPLES } from "../examples/limits.ts";
import { readCsv } from "./csv.ts";
import type { UploadedFile } from "../../review/files/upload.ts";

export type Row = Record<string, unknown>;

/** The rows of the file. The name or the type of the file says which format it has; without either it is CSV. @throws Problem 413, 422 */
export function readRows(file: UploadedFile): Row[] {
  const rows = isLines(file)
    ? readJsonLines(decodeText(file))
    : isList(file)
      ? readJsonList(file)
      : readCsvRows(decodeText(file));
  if (rows.length === 0) throw new Problem(422, "Invalid file: it has no row.");
  return rows;
}

const isLines = ({ name = "", type }: UploadedFile) => /\.(jsonl|ndjson)$/i.test(name) || /jsonl|ndjson/.test(type);
const isList = ({ name = "", type }: UploadedFile) => /\.json$/i.test(name) || type.endsWith("/json");

function decodeText({ data }: UploadedFile): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(data);
  } catch {
    throw new Problem(422, "Invalid file: it is not UTF-8.");
  }
}

function readCsvRows(text: string): Row[] {
  let header: string[] | undefined;
  const rows: Row[] = [];
  for (const { line, cells } of readCsv(text)) {
    if (!header) {
      header = cells;
      const repeated = cells.find((name, at) => cells.indexOf(name) < at);
      if (repeated !== undefined) throw new Problem(422, "Invalid file, line 1: two columns have the same name.");
      continue;
    }
    if (cells.length !== header.length) {
      const counts = `it has ${cells.length} cells and the header ${header.length}`;
      throw new Problem(422, `Invalid file, line ${line}: ${counts}.`);
    }
    rows.push(Object.fromEntries(header.map((name, at) => [name, cells[at]])));
    refuseMany(rows.length);
  }
  return rows;
}

function readJsonLines(text: string): Row[] {
  const rows: Row[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    rows.push(toRow(parseJson(line), `line ${at + 1}`));
    refuseMany(rows.length);
  }
  return rows;
}

function readJsonList({ data }: UploadedFile): Row[] {
  const list = decodeJson(data);
  if (!Array.isArray(list)) throw new Problem(422, "Invalid file: expected a JSON list of objects.");
  refuseMany(list.length);
  return list.map((value, at) => toRow(value, `item ${at}`));
}

function toRow(value: unknown, at: string): Row {
  if (!isObject(value)) throw new Problem(422, `Invalid file, ${at}: expected a JSON object.`);
  if (nestsDeeper(value)) throw new Problem(422, `Invalid file, ${at}: nests deeper than ${NESTING} levels.`);
  return value;
}

function refuseMany(count: number): void {
  if (count > EXAMPLES) throw new Problem(413, `The file has more than ${EXAMPLES} rows. Send fewer at a time.`);
}

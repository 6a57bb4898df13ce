/** The form of `uploadCsv` (multipart/form-data): a file, and how its columns are read. */
import * as v from "valibot";
import { maxBytes, METADATA_BYTES } from "../../../lib/bytes.ts";
import { optional, unserved, Uuid } from "../../../http/shapes.ts";
import {
  decodeJson,
  JsonMembers,
  isObject,
  NESTING,
  nestsDeeper,
  parseJson,
  parseBoundedJson,
} from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { parse } from "../../../http/validate.ts";
import type { MultipartPart } from "../../ingest/multipart.ts";
import { CreateDataset } from "../datasets/schema.ts";
import { EXAMPLES, CreateExample } from "../examples/schema.ts";
import { type ExampleInput, readExampleInput } from "../examples/input.ts";

const Column = v.pipe(v.string(), v.minLength(1), v.maxLength(500));
/** A name, or a list of names. */
const Columns = optional(
  v.pipe(
    v.union([Column, v.array(Column)]),
    v.transform((given) => [...new Set([given].flat())]),
    v.maxLength(200, "names at most 200 columns"),
  ),
);
const { name, description, data_type, inputs_schema_definition, outputs_schema_definition } = CreateDataset.entries;
const mapping = unserved("mappings of columns. Rename the columns of the file");

const Form = v.looseObject({
  id: optional(Uuid),
  name: v.optional(name),
  description,
  data_type,
  input_keys: Columns,
  output_keys: Columns,
  metadata_keys: Columns,
  metadata: optional(v.pipe(JsonMembers, maxBytes(METADATA_BYTES))),
  inputs_schema_definition,
  outputs_schema_definition,
  transformations: unserved("transformations of examples"),
  input_key_mappings: mapping,
  output_key_mappings: mapping,
  metadata_key_mappings: mapping,
});
type Fields = v.InferOutput<typeof Form>;

export interface UploadedFile {
  name: string | undefined;
  type: string;
  data: Uint8Array;
}

/** The most bytes of a field that is no file. */
const FIELD_BYTES = 1024 * 1024;
/** Fields whose value is JSON also when their part does not say so: forms have only texts. */
const JSON_FIELDS = new Set(["metadata", "inputs_schema_definition", "outputs_schema_definition"]);

/** Collects the parts. A field that is sent more than once is a list. */
export class UploadForm {
  readonly #fields = new Map<string, unknown[]>();
  #file: UploadedFile | undefined;
  /** The bytes that are held. */
  bytes = 0;

  /** @throws Problem 413, 422 */
  add({ name, type, filename, data }: MultipartPart): void {
    if (!data || (name !== "file" && data.byteLength > FIELD_BYTES)) throw new Problem(413, "A part is too large.");
    this.bytes += data.byteLength;
    // Small data is a view on a buffer that is reused.
    if (name === "file") this.#file = { name: filename, type, data: new Uint8Array(data) };
    else this.#fields.set(name, [...(this.#fields.get(name) ?? []), parseField(name, type, data)]);
    if (this.#fields.size > 100) throw new Problem(422, "Invalid form: it has more than 100 fields.");
  }

  /** @throws Problem 422 */
  read(): { fields: Fields; file: UploadedFile } {
    const given = [...this.#fields].map(([name, values]) => [name, values.length === 1 ? values[0] : values.flat()]);
    const fields = parse(Form, Object.fromEntries(given), "form");
    if (!this.#file) throw new Problem(422, "Invalid form.file: is required.");
    return { fields, file: this.#file };
  }
}

function parseField(name: string, type: string, data: Uint8Array): unknown {
  if (!JSON_FIELDS.has(name) && !type.endsWith("/json")) return Buffer.from(data).toString();
  const value = decodeJson(data);
  if (value === undefined) throw new Problem(422, `Invalid form.${name}: expected JSON.`);
  return value;
}

// Comma-separated values (RFC 4180): any line break between records, and cells as text.

/** One record, with the line on which it begins. */
export interface CsvRecord {
  line: number;
  cells: string[];
}

/** What ends a plain cell, and what may follow a quoted one. */
const END = /[",\r\n]/g;
const BREAK = /\r\n|\r|\n/g;

/** The records of a text. Empty lines are none. @throws Problem 422 that names the line */
export function* readCsv(text: string): Generator<CsvRecord, void, void> {
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  let line = 1;
  while (at < text.length) {
    const record: CsvRecord = { line, cells: [] };
    let more = true;
    while (more) {
      const cell = text[at] === '"' ? quotedCell(text, at, line) : plainCell(text, at, line);
      record.cells.push(cell.text);
      line += cell.breaks;
      more = text[cell.end] === ",";
      at = more ? cell.end + 1 : skipBreak(text, cell.end);
      if (more) continue;
      if (record.cells.length > 1 || cell.isQuoted || cell.text !== "") yield record;
    }
    line++;
  }
}

interface Cell {
  text: string;
  end: number;
  isQuoted: boolean;
  breaks: number;
}

function plainCell(text: string, at: number, line: number): Cell {
  END.lastIndex = at;
  const end = END.exec(text)?.index ?? text.length;
  if (text[end] === '"') throw invalid(line, "a quote is within a cell that does not begin with one");
  return { text: text.slice(at, end), end, isQuoted: false, breaks: 0 };
}

function quotedCell(text: string, at: number, line: number): Cell {
  const parts: string[] = [];
  for (let from = at + 1; ;) {
    const quote = text.indexOf('"', from);
    if (quote === -1) throw invalid(line, "a quote is not closed");
    parts.push(text.slice(from, quote));
    if (text[quote + 1] === '"') {
      from = quote + 2;
      continue;
    }
    const end = quote + 1;
    if (end < text.length && !",\r\n".includes(text[end] ?? "")) throw invalid(line, "text follows a closing quote");
    const whole = parts.join('"');
    return { text: whole, end, isQuoted: true, breaks: whole.match(BREAK)?.length ?? 0 };
  }
}

const skipBreak = (text: string, at: number): number => at + (text.startsWith("\r\n", at) ? 2 : 1);

const invalid = (line: number, what: string) => new Problem(422, `Invalid file, line ${line}: ${what}.`);

export const csvLine = (cells: string[]): string => `${cells.map(csvCell).join(",")}\r\n`;

const csvCell = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// The rows of an uploaded file: CSV with a header, JSON Lines, or a JSON list.

export type UploadedRow = Record<string, unknown>;

/** The rows of the file. The name or the type of the file says which format it has; without either it is CSV. @throws Problem 413, 422 */
export function readRows(file: UploadedFile): UploadedRow[] {
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

function readCsvRows(text: string): UploadedRow[] {
  let header: string[] | undefined;
  const rows: UploadedRow[] = [];
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

function readJsonLines(text: string): UploadedRow[] {
  const rows: UploadedRow[] = [];
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    rows.push(toRow(parseJson(line), `line ${at + 1}`));
    refuseMany(rows.length);
  }
  return rows;
}

function readJsonList({ data }: UploadedFile): UploadedRow[] {
  const list = decodeJson(data);
  if (!Array.isArray(list)) throw new Problem(422, "Invalid file: expected a JSON list of objects.");
  refuseMany(list.length);
  return list.map((value, at) => toRow(value, `item ${at}`));
}

function toRow(value: unknown, at: string): UploadedRow {
  if (!isObject(value)) throw new Problem(422, `Invalid file, ${at}: expected a JSON object.`);
  if (nestsDeeper(value)) throw new Problem(422, `Invalid file, ${at}: nests deeper than ${NESTING} levels.`);
  return value;
}

function refuseMany(count: number): void {
  if (count > EXAMPLES) throw new Problem(413, `The file has more than ${EXAMPLES} rows. Send fewer at a time.`);
}

// The examples of an uploaded file.

type Upload = ReturnType<UploadForm["read"]>;
type UploadFields = Upload["fields"];

const { inputs, outputs, metadata, split, name: uploadName } = CreateExample.entries;
/** A row as `GET /datasets/{id}/jsonl` writes it. Its id is left out: the dataset that it comes from may have it still. */
const WrittenExample = v.looseObject({ inputs, outputs, metadata, split, name: uploadName });

/**
 * The examples of the rows: the columns that the form names, or without them examples as a download of JSON Lines has them. The
 * first row is the newest example, because lists begin with the newest. @throws Problem 413, 422
 */
export function examplesIn({ fields, file }: Upload, now: number, makeId: (row: number) => string): ExampleInput[] {
  const rows = readRows(file);
  const named = [fields.input_keys, fields.output_keys, fields.metadata_keys].flatMap((keys) => keys ?? []);
  const columns = new Set(rows.flatMap((row) => Object.keys(row)));
  const missing = named.find((key) => !columns.has(key));
  if (missing !== undefined) throw new Problem(422, `Invalid form: the file has no column ${JSON.stringify(missing)}.`);
  return rows.map((row, at) => {
    const content = fields.input_keys ? splitRow(row, fields) : readWritten(row, at);
    return readExampleInput(makeId(at), { ...content, created_at: now - at });
  });
}

function splitRow(row: UploadedRow, { input_keys = [], output_keys, metadata_keys, data_type }: UploadFields) {
  const members = (keys: string[]) =>
    Object.fromEntries(
      keys.filter((key) => Object.hasOwn(row, key)).map((key) => [key, parseCell(row[key], data_type === "chat")]),
    );
  return {
    inputs: members(input_keys),
    ...(output_keys && { outputs: members(output_keys) }),
    ...(metadata_keys && { metadata: members(metadata_keys) }),
  };
}

/** A cell of a dataset of conversations may be the JSON of its messages. */
function parseCell(value: unknown, isChat: boolean): unknown {
  const messages = isChat && typeof value === "string" ? parseBoundedJson(value) : undefined;
  return Array.isArray(messages) || isObject(messages) ? messages : value;
}

function readWritten(row: UploadedRow, at: number) {
  if (!isObject(row["inputs"])) {
    throw new Problem(422, `Invalid form.input_keys: is required, because row ${at + 1} has no object inputs.`);
  }
  const { inputs, outputs, metadata, split, name } = parse(WrittenExample, row, `row ${at + 1}`);
  return {
    ...(inputs && { inputs }),
    ...(outputs && { outputs }),
    ...(metadata && { metadata }),
    ...(split && { split }),
    ...(name !== undefined && { name }),
  };
}

/** The examples of an uploaded file. */
import * as v from "valibot";
import { isObject, parseBoundedJson } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { parse } from "../../../http/validate.ts";
import { type GivenExample, givenExample } from "../../review/examples/input.ts";
import { CreateExample } from "../../review/examples/schema.ts";
import type { UploadForm } from "../../review/files/upload.ts";
import { type Row, readRows } from "./rows.ts";

type Upload = ReturnType<UploadForm["read"]>;
type Fields = Upload["fields"];

const { inputs, outputs, metadata, split, name } = CreateExample.entries;
/** A row as `GET /datasets/{id}/jsonl` writes it. Its id is left out: the dataset that it comes from may have it still. */
const WrittenExample = v.looseObject({ inputs, outputs, metadata, split, name });

/**
 * The examples of the rows: the columns that the form names, or without them examples as a download of JSON Lines has them. The
 * first row is the newest example, because lists begin with the newest. @throws Problem 413, 422
 */
export function examplesIn({ fields, file }: Upload, now: number, makeId: (row: number) => string): GivenExample[] {
  const rows = readRows(file);
  const named = [fields.input_keys, fields.output_keys, fields.metadata_keys].flatMap((keys) => keys ?? []);
  const columns = new Set(rows.flatMap((row) => Object.keys(row)));
  const missing = named.find((key) => !columns.has(key));
  if (missing !== undefined) throw new Problem(422, `Invalid form: the file has no column ${JSON.stringify(missing)}.`);
  return rows.map((row, at) => {
    const content = fields.input_keys ? splitRow(row, fields) : readWritten(row, at);
    return givenExample(makeId(at), { ...content, created_at: now - at });
  });
}

function splitRow(row: Row, { input_keys = [], output_keys, metadata_keys, data_type }: Fields) {
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

function readWritten(row: Row, at: number) {
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

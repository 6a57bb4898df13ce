/** The form of `uploadCsv` (multipart/form-data): a file, and how its columns are read. */
import * as v from "valibot";
import { maxBytes, METADATA_BYTES } from "../../../lib/bytes.ts";
import { optional, unserved, Uuid } from "../../../http/shapes.ts";
import { decodeJson, JsonMembers } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { parse } from "../../../http/validate.ts";
import type { Part } from "../../ingest/multipart.ts";
import { CreateDataset } from "../datasets/schema.ts";

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
  add({ name, type, filename, data }: Part): void {
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

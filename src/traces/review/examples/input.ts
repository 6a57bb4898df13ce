/** Examples as requests give them: JSON, or multipart/form-data whose parts are named `<id>` and `<id>.<field>`. */
import { decodeJson, isObject, NESTING, nestsDeeper } from "../../../lib/json.ts";
import { Problem } from "../../../lib/problem.ts";
import { isUuid } from "../../../lib/uuid.ts";
import { parse } from "../../../http/validate.ts";
import type { MultipartPart } from "../../ingest/multipart.ts";
import type { NewAttachment } from "./bodies.ts";
import { EXAMPLES, HEADS_BYTES, AttachmentOperations, ExampleHead } from "./schema.ts";

export interface ExampleInput {
  id: string;
  head: ExampleHead;
  /** JSON texts of objects, as they were sent. */
  inputs?: Uint8Array;
  outputs?: Uint8Array;
  attachments: NewAttachment[];
  operations?: AttachmentOperations;
}

/** The most bytes of an attachment's name. */
const NAME_BYTES = 500;

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}$/;

/** Collects the parts of a multipart request. The parts of an example come in any order. */
export class ExampleParts {
  readonly #byId = new Map<string, ExampleInput & { hasHead: boolean }>();
  /** The bytes that are held. */
  bytes = 0;
  #heads = 0;

  /** @throws Problem 422 that names the part. */
  add({ name, type, data }: MultipartPart): void {
    const [, id = "", field = ""] = /^([^.]*)\.?([\s\S]*)$/.exec(name) ?? [];
    if (!isUuid(id)) throw new Problem(422, "Invalid part: its name must be the id of an example, or begin with <id>.");
    const at = `part ${id.toLowerCase()}${field && `.${field.slice(0, 60)}`}`;
    if (!data) throw new Problem(413, `Invalid ${at}: it is too large.`);
    const example = this.#of(id.toLowerCase());
    // Small data is a view on a buffer that is reused.
    const own = new Uint8Array(data);
    this.bytes += own.byteLength;
    if (field === "") {
      this.#heads += own.byteLength;
      if (this.#heads > HEADS_BYTES) {
        throw new Problem(
          413,
          `Metadata and splits hold more than ${HEADS_BYTES} bytes. Send fewer examples at a time.`,
        );
      }
      example.head = parse(ExampleHead, parseObject(own, at), at);
      example.hasHead = true;
    } else if (field === "inputs" || field === "outputs") {
      if (isNull(own)) return;
      parseObject(own, at);
      example[field] = own;
    } else if (field === "attachments_operations") {
      example.operations = parse(AttachmentOperations, parseObject(own, at), at);
    } else if (field.startsWith("attachment.")) {
      const file = field.slice("attachment.".length);
      if (file === "" || Buffer.byteLength(file) > NAME_BYTES) {
        throw new Problem(422, `Invalid ${at}: the name of an attachment has 1 to ${NAME_BYTES} bytes.`);
      }
      // The type becomes a header of the answer that serves the attachment.
      const served = MEDIA_TYPE.test(type) ? type : "application/octet-stream";
      example.attachments.push({ name: file, type: served, data: own });
    } else {
      throw new Problem(422, `Invalid ${at}: expected inputs, outputs, attachments_operations or attachment.<name>.`);
    }
  }

  /** @throws Problem 422 when an example has no part of its own, or there is none. */
  examples(): ExampleInput[] {
    const all = [...this.#byId.values()];
    if (all.length === 0) throw new Problem(422, "Invalid body: it holds no example.");
    const headless = all.find(({ hasHead }) => !hasHead);
    if (headless) throw new Problem(422, `Invalid body: there is no part ${headless.id}.`);
    return all;
  }

  #of(id: string): ExampleInput & { hasHead: boolean } {
    const known = this.#byId.get(id);
    if (known) return known;
    if (this.#byId.size === EXAMPLES) throw new Problem(413, `More than ${EXAMPLES} examples. Send fewer at a time.`);
    const fresh = { id, head: {}, attachments: [], hasHead: false };
    this.#byId.set(id, fresh);
    return fresh;
  }
}

function isNull(json: Uint8Array): boolean {
  return Buffer.from(json.buffer, json.byteOffset, json.byteLength).toString("latin1") === "null";
}

function parseObject(json: Uint8Array, at: string): Record<string, unknown> {
  const value = decodeJson(json);
  if (!isObject(value)) throw new Problem(422, `Invalid ${at}: expected a JSON object.`);
  if (nestsDeeper(value)) throw new Problem(422, `Invalid ${at}: nests deeper than ${NESTING} levels.`);
  return value;
}

/** An example of a JSON request. */
export function readExampleInput(
  id: string,
  body: ExampleHead & { inputs?: object; outputs?: object; attachments_operations?: AttachmentOperations },
): ExampleInput {
  const { inputs, outputs, attachments_operations: operations, ...head } = body;
  return {
    id,
    head,
    attachments: [],
    ...(inputs && { inputs: Buffer.from(JSON.stringify(inputs)) }),
    ...(outputs && { outputs: Buffer.from(JSON.stringify(outputs)) }),
    ...(operations && { operations }),
  };
}

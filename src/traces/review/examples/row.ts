/** Examples in answers. Their bodies are sent as the JSON texts that are stored, and bodies in R2 are streamed. */
import * as v from "valibot";
import { AnyObject, Id, Time } from "../../../http/shapes.ts";
import { parseExact } from "../../../lib/json.ts";
import { jsonStream } from "../../../http/json-stream.ts";
import { placeholder } from "../../query/responses.ts";
import { type SealedBlobs, openSealedBlobs } from "../../../access/encryption/blobs.ts";
import { attachmentLink, Attachments } from "../../query/attachments.ts";
import { blobKey } from "./bodies.ts";
import type { ExampleRow } from "./store.ts";

const body = v.nullable(AnyObject);
const Rest = v.object({
  id: Id,
  dataset_id: Id,
  created_at: Time,
  modified_at: Time,
  name: v.string(),
  source_run_id: v.nullable(v.string()),
  /** Where the request selects them. */
  metadata: v.optional(AnyObject),
  attachment_urls: v.optional(v.nullable(Attachments)),
});
export const Example = v.pipe(
  v.object({ ...Rest.entries, inputs: body, outputs: v.optional(body) }),
  v.title("Example"),
);

/** JSON text, or the R2 key of a JSON text. */
type Piece = string | { key: string };

export interface ExampleFields {
  outputs: boolean;
  metadata: boolean;
  attachments: boolean;
}

const ALL: ExampleFields = { outputs: true, metadata: true, attachments: true };

/** What a list shows: everything but links to attachments, or what `select` names. */
export function chooseFields(select: string[] | undefined): ExampleFields {
  if (!select) return { ...ALL, attachments: false };
  const has = (name: string) => select.includes(name);
  return { outputs: has("outputs"), metadata: has("metadata"), attachments: has("attachment_urls") };
}

/** The examples as a JSON list. `origin` is the server's own, for links to attachments. */
export async function examplesResponse(env: Env, origin: string, rows: ExampleRow[], shown = ALL): Promise<Response> {
  const pieces: Piece[] = ["["];
  for (const [index, row] of rows.entries()) {
    if (index > 0) pieces.push(",");
    pieces.push(...(await examplePieces(env, origin, row, shown)));
  }
  return streamBody(openSealedBlobs(env), [...pieces, "]"]);
}

export async function exampleResponse(env: Env, origin: string, row: ExampleRow): Promise<Response> {
  return streamBody(openSealedBlobs(env), await examplePieces(env, origin, row, ALL));
}

/** The example as a value for `runsAnswer`. Bodies in R2 are placeholders. */
export async function exampleValue(env: Env, origin: string, row: ExampleRow): Promise<object> {
  const body = (name: "inputs" | "outputs"): unknown => {
    const hash = row[`${name}Hash`];
    const text = hash ? placeholder(name, blobKey(row, hash)) : row[name];
    return text === null ? null : parseExact(text);
  };
  return { ...(await readRest(env, origin, row, ALL)), inputs: body("inputs"), outputs: body("outputs") };
}

async function examplePieces(env: Env, origin: string, row: ExampleRow, shown: ExampleFields): Promise<Piece[]> {
  const rest = await readRest(env, origin, row, shown);
  const body = (text: string | null, hash: string | null): Piece =>
    hash ? { key: blobKey(row, hash) } : (text ?? "null");
  return [
    `${JSON.stringify(rest).slice(0, -1)},"inputs":`,
    body(row.inputs, row.inputsHash),
    ...(shown.outputs ? [`,"outputs":`, body(row.outputs, row.outputsHash)] : []),
    "}",
  ];
}

/** What an example has besides its bodies. */
async function readRest(
  env: Env,
  origin: string,
  row: ExampleRow,
  shown: ExampleFields,
): Promise<v.InferOutput<typeof Rest>> {
  return {
    id: row.id,
    dataset_id: row.datasetId,
    created_at: new Date(row.createdAt).toISOString(),
    modified_at: new Date(row.since).toISOString(),
    name: row.name ?? `#${row.id.slice(0, 4)}`,
    source_run_id: row.sourceRunId,
    ...(shown.metadata && { metadata: row.metadata }),
    ...(shown.attachments && { attachment_urls: await attachmentUrls(env, origin, row) }),
  };
}

async function attachmentUrls(
  env: Env,
  origin: string,
  row: ExampleRow,
): Promise<v.InferOutput<typeof Attachments> | null> {
  if (row.attachments.length === 0) return null;
  const urls: v.InferOutput<typeof Attachments> = {};
  for (const { name, type, hash } of row.attachments) {
    const presigned_url = await attachmentLink(env, origin, blobKey(row, hash));
    urls[`attachment.${name}`] = { presigned_url, s3_url: null, mime_type: type };
  }
  return urls;
}

function streamBody(blobs: Pick<SealedBlobs, "get">, pieces: Piece[]): Response {
  const headers = { "content-type": "application/json" };
  if (pieces.every((piece) => typeof piece === "string")) return new Response(pieces.join(""), { headers });
  return jsonStream(writeExample(blobs, pieces));
}

async function* writeExample(blobs: Pick<SealedBlobs, "get">, pieces: Piece[]): AsyncGenerator<Uint8Array, void, void> {
  const encoder = new TextEncoder();
  for (const piece of pieces) {
    const object = typeof piece === "string" ? undefined : await blobs.get(piece.key);
    if (object) yield* object.body;
    else yield encoder.encode(typeof piece === "string" ? piece : "null");
  }
}

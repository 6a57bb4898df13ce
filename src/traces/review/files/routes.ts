/** Datasets as files: made from one, and written as one. */
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { database } from "../../../db/client.ts";
import { createDoc } from "../../../http/route.ts";
import { Uuid } from "../../../http/shapes.ts";
import { jsonStream } from "../../../http/json-stream.ts";
import { Problem } from "../../../lib/problem.ts";
import { type App, idempotentId, newOrEarlier } from "../../../http/context.ts";
import { param, query } from "../../../http/validate.ts";
import { decodedBody, WHOLE_BYTES, withReservation } from "../../ingest/body.ts";
import { readBoundary, readParts } from "../../ingest/multipart.ts";
import { destroyDataset } from "../datasets/routes.ts";
import { AsOf } from "../examples/schema.ts";
import { createExamples } from "../examples/write.ts";
import { existingDataset, findDataset, insertDataset, resolveVersion } from "../datasets/store.ts";
import { Dataset, toWireDatasets } from "../datasets/row.ts";
import { writeFile, type DownloadFormat, createWriter } from "./download.ts";
import { UploadForm, examplesIn } from "./upload.ts";

const doc = createDoc("Datasets");
const DatasetId = v.object({ dataset_id: Uuid });
const Download = v.object({ as_of: v.optional(AsOf) });

export const datasetFiles = new Hono<App>()
  .post("/datasets/upload", doc("Create a dataset from a file", Dataset), (c) =>
    withReservation(c, async (claim) => {
      const boundary = readBoundary(c.req.header("content-type") ?? null);
      const form = new UploadForm();
      const take = async (waiting: number) => claim.hold(waiting + form.bytes);
      await readParts(decodedBody(c.req.raw, WHOLE_BYTES), boundary, (part) => form.add(part), take);
      // The text, its rows, and the bodies of the examples.
      await claim.hold(form.bytes * 4);
      return createFrom(c, form);
    }),
  )
  .get("/datasets/:dataset_id/csv", doc("Download a dataset as CSV"), param(DatasetId), query(Download), (c) =>
    download(c, "csv", c.req.valid("param").dataset_id, c.req.valid("query").as_of),
  )
  .get("/datasets/:dataset_id/jsonl", doc("Download a dataset as JSON Lines"), param(DatasetId), query(Download), (c) =>
    download(c, "jsonl", c.req.valid("param").dataset_id, c.req.valid("query").as_of),
  )
  .get("/datasets/:dataset_id/openai", doc("Download a dataset for evals"), param(DatasetId), query(Download), (c) =>
    download(c, "openai", c.req.valid("param").dataset_id, c.req.valid("query").as_of),
  )
  .get(
    "/datasets/:dataset_id/openai_ft",
    doc("Download a dataset for fine-tuning"),
    param(DatasetId),
    query(Download),
    (c) => download(c, "openai_ft", c.req.valid("param").dataset_id, c.req.valid("query").as_of),
  );

async function createFrom(c: Context<App>, form: UploadForm): Promise<Response> {
  const { fields, file } = form.read();
  const { workspaceId } = c.get("principal");
  const db = database(c.env.DB);
  const wire = async (row: Parameters<typeof toWireDatasets>[2][number]) =>
    c.json((await toWireDatasets(db, workspaceId, [row]))[0]);
  const name = fields.name ?? file.name?.slice(0, 500);
  if (!name) throw new Problem(422, "Invalid form.name: is required, because the file has no name.");
  const { id, earlier } = await newOrEarlier(c, (one) => findDataset(db, workspaceId, one));
  if (earlier) return wire(earlier);
  const now = Date.now();
  const given = examplesIn({ fields, file }, now, (row) => idempotentId(c, String(row)));
  const dataset = await insertDataset(db, {
    id: fields.id ?? id,
    workspaceId,
    name,
    description: fields.description ?? null,
    dataType: fields.data_type ?? "kv",
    metadata: fields.metadata ?? {},
    inputsSchema: fields.inputs_schema_definition ?? null,
    outputsSchema: fields.outputs_schema_definition ?? null,
    createdAt: now,
    modifiedAt: now,
    examplesAt: 0,
  });
  if (!dataset) throw new Problem(409, "A dataset with this name or id exists.");
  try {
    const { asOf } = await createExamples(c.env, dataset, given);
    return await wire({ ...dataset, examplesAt: asOf });
  } catch (error) {
    await destroyDataset(c.env, dataset);
    throw error;
  }
}

const TYPES: Record<DownloadFormat, [type: string, extension: string]> = {
  csv: ["text/csv; charset=utf-8", "csv"],
  jsonl: ["application/jsonl", "jsonl"],
  openai: ["application/jsonl", "jsonl"],
  openai_ft: ["application/jsonl", "jsonl"],
};

async function download(
  c: Context<App>,
  format: DownloadFormat,
  id: string,
  version: string | undefined,
): Promise<Response> {
  const dataset = await existingDataset(c, id);
  const named = await resolveVersion(database(c.env.DB), dataset.workspaceId, id, version);
  const asOf = named ?? dataset.examplesAt;
  // A refusal comes before the answer begins.
  const writer = await createWriter(c.env, dataset, format, asOf);
  const [type, extension] = TYPES[format];
  return jsonStream(writeFile(c.env, dataset, writer, asOf), {
    "content-type": type,
    "content-disposition": `attachment; filename="${id}.${extension}"`,
    "x-content-type-options": "nosniff",
  });
}

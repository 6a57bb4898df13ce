/** Examples as the current SDKs send them: multipart/form-data, and changes of many examples' metadata. */
import * as v from "valibot";
import { Count, Id, Message, Time } from "../../../http/shapes.ts";
import { type Context, Hono } from "hono";
import { audit } from "../../../access/audit/record.ts";
import { database } from "../../../db/client.ts";
import { createDoc, NOTHING } from "../../../http/route.ts";
import { Problem } from "../../../lib/problem.ts";
import type { App } from "../../../http/context.ts";
import { body, param } from "../../../http/validate.ts";
import { decodedBody, WHOLE_BYTES, withClaim } from "../../ingest/body.ts";
import { readBoundary, readParts } from "../../ingest/multipart.ts";
import { existingDataset } from "../existing.ts";
import { type GivenExample, GivenParts } from "../../review/examples/input.ts";
import { changeMetadata } from "./metadata.ts";
import { ChangeMetadata, DatasetId, EraseExamples, ExampleOfDataset } from "../../review/examples/schema.ts";
import { checkSources } from "./source.ts";
import { knownIds } from "../../review/examples/store.ts";
import {
  createExamples,
  eraseForGood,
  removeExamples,
  updateExamples,
  type Written,
} from "../../review/examples/write.ts";
import type { DatasetRow } from "../store.ts";

const doc = createDoc("Examples");

const Statuses = v.object({
  statuses: v.array(
    v.object({ id: Id, status: v.picklist(["UPDATED", "NOT_FOUND"]), description: v.optional(v.string()) }),
  ),
});
const WrittenExamples = v.object({ count: Count, example_ids: v.array(Id), as_of: Time });

export const platformExamples = new Hono<App>()
  .post(
    "/datasets/examples/delete",
    doc("Delete examples, from all versions too", Message),
    body(EraseExamples),
    async (c) => {
      const { example_ids, hard_delete = false } = c.req.valid("json");
      const { workspaceId } = c.get("principal");
      const detail = { hard_delete, examples: example_ids.length, example_ids: example_ids.slice(0, 100) };
      await audit(c, { action: "example.deleted", targetId: example_ids[0] ?? "", detail });
      if (hard_delete) await eraseForGood(c.env, workspaceId, example_ids);
      else await removeExamples(c.env, workspaceId, example_ids);
      return c.json({ message: "Examples deleted" });
    },
  )
  .delete(
    "/datasets/:dataset_id/examples/:example_id",
    doc("Delete an example of a dataset", NOTHING),
    param(ExampleOfDataset),
    async (c) => {
      const { dataset_id, example_id } = c.req.valid("param");
      const { workspaceId } = await existingDataset(c, dataset_id);
      const known = await knownIds(database(c.env.DB), workspaceId, dataset_id, [example_id]);
      if (!known.has(example_id)) throw new Problem(404, "Example not found in this dataset.");
      await audit(c, { action: "example.deleted", targetId: example_id, detail: { dataset_id } });
      await removeExamples(c.env, workspaceId, [example_id]);
      return c.body(null, 204);
    },
  )
  .patch(
    "/datasets/:dataset_id/examples/metadata",
    doc("Change the metadata of many examples", { 207: Statuses }),
    param(DatasetId),
    body(ChangeMetadata),
    async (c) => {
      const { example_ids, operations } = c.req.valid("json");
      const dataset = await existingDataset(c, c.req.valid("param").dataset_id);
      const updated = await changeMetadata(database(c.env.DB), dataset, example_ids, operations);
      const statuses = example_ids.map((id) =>
        updated.has(id)
          ? { id, status: "UPDATED" }
          : { id, status: "NOT_FOUND", description: "The dataset has no such example." },
      );
      return c.json({ statuses }, 207);
    },
  )
  .post(
    "/datasets/:dataset_id/examples",
    doc("Create examples as multipart/form-data", { 201: WrittenExamples }),
    param(DatasetId),
    (c) => withParts(c, c.req.valid("param").dataset_id, createExamples),
  )
  .patch(
    "/datasets/:dataset_id/examples",
    doc("Change examples as multipart/form-data", { 201: WrittenExamples }),
    param(DatasetId),
    (c) => withParts(c, c.req.valid("param").dataset_id, updateExamples),
  );

type Write = (env: Env, dataset: DatasetRow, given: GivenExample[]) => Promise<Written>;

/** Reads the parts within the memory budget of ingest, and writes their examples. */
async function withParts(c: Context<App>, datasetId: string, write: Write): Promise<Response> {
  const dataset = await existingDataset(c, datasetId);
  return withClaim(c, async (claim) => {
    const boundary = readBoundary(c.req.header("content-type") ?? null);
    const parts = new GivenParts();
    const body = decodedBody(c.req.raw, WHOLE_BYTES);
    await readParts(
      body,
      boundary,
      (part) => parts.add(part),
      async (waiting) => claim.hold(waiting + parts.bytes),
    );
    const given = parts.examples();
    checkSources(c.get("principal"), given);
    const { ids, asOf } = await write(c.env, dataset, given);
    return c.json({ count: ids.length, example_ids: ids, as_of: new Date(asOf).toISOString() }, 201);
  });
}

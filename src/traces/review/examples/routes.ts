/** Examples over JSON: `/examples`. */
import * as v from "valibot";
import { Count, Id, ResultMessage, Time } from "../../../http/shapes.ts";
import { type Context, Hono } from "hono";
import { audit } from "../../../access/audit/record.ts";
import { database } from "../../../db/client.ts";
import { limitResponse } from "../../../lib/bytes.ts";
import { createDoc, NOTHING } from "../../../http/route.ts";
import { serverAddress, type App, idempotentId } from "../../../http/context.ts";
import { Problem } from "../../../lib/problem.ts";
import { body, param, query } from "../../../http/validate.ts";
import { existingDataset, resolveVersion, type DatasetRow } from "../datasets/store.ts";
import { Example, exampleResponse, examplesResponse, chooseFields } from "./row.ts";
import { readExampleInput, type ExampleInput, ExampleParts } from "./input.ts";
import * as schema from "./schema.ts";
import { ChangeMetadata, DatasetId, EraseExamples, ExampleOfDataset } from "./schema.ts";
import { checkSources } from "./source.ts";
import { countMatching, type ExampleRow, findExamples, listExamples, measureExamples, knownIds } from "./store.ts";
import {
  createExamples,
  removeExamples,
  updateExamples,
  type WrittenVersion,
  changeMetadata,
  eraseForGood,
} from "./write.ts";
import { decodedBody, WHOLE_BYTES, withReservation } from "../../ingest/body.ts";
import { readBoundary, readParts } from "../../ingest/multipart.ts";

const doc = createDoc("Examples");

const Changed = v.object({ message: v.string(), count: Count, example_ids: v.array(Id) });

/** A page of up to this many examples always fits one answer. */
const USUAL = 100;

export const examples = new Hono<App>()
  .get("/examples", doc("List examples, newest first", v.array(Example)), query(schema.ListExamples), async (c) => {
    const { as_of, select, ...given } = c.req.valid("query");
    if (!given.dataset && !given.id) throw new Problem(422, "Invalid query: give dataset or id.");
    const wanted = { ...given, asOf: await versionTime(c, as_of, given.dataset) };
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    if (given.dataset) await existingDataset(c, given.dataset);
    if (wanted.limit > USUAL) {
      await limitResponse(wanted.limit, () => measureExamples(db, workspaceId, wanted));
    }
    const rows = await listExamples(db, workspaceId, wanted);
    return examplesResponse(c.env, serverAddress(c), rows, chooseFields(select));
  })
  .get("/examples/count", doc("Count examples of a dataset", Count), query(schema.CountExamples), async (c) => {
    const { as_of, ...given } = c.req.valid("query");
    await existingDataset(c, given.dataset);
    const asOf = await versionTime(c, as_of, given.dataset);
    return c.json(await countMatching(database(c.env.DB), c.get("principal").workspaceId, { ...given, asOf }));
  })
  .get(
    "/examples/:example_id",
    doc("Read an example", Example),
    param(schema.ExampleId),
    query(schema.ReadExample),
    async (c) => {
      const { as_of, dataset } = c.req.valid("query");
      const { example_id } = c.req.valid("param");
      const asOf = await versionTime(c, as_of, dataset);
      return exampleResponse(c.env, serverAddress(c), await existingExample(c, example_id, asOf));
    },
  )
  .post("/examples", doc("Create an example", Example), body(schema.CreateExample), async (c) => {
    const { id = idempotentId(c), dataset_id, ...given } = c.req.valid("json");
    const parts = [readExampleInput(id, given)];
    checkSources(c.get("principal"), parts);
    return writtenExampleResponse(c, await createExamples(c.env, await existingDataset(c, dataset_id), parts));
  })
  .post("/examples/bulk", doc("Create examples", v.array(Example)), body(schema.CreateExamples), async (c) => {
    const given = c.req.valid("json");
    const groups = [...Map.groupBy(given, ({ dataset_id }) => dataset_id)];
    const [[datasetId, group] = ["", []], ...others] = groups;
    if (others.length > 0) throw new Problem(422, "Invalid body: all examples must be of one dataset.");
    const parts = group.map(({ id, ...rest }, n) => readExampleInput(id ?? idempotentId(c, String(n)), rest));
    checkSources(c.get("principal"), parts);
    return writtenExamplesResponse(c, await createExamples(c.env, await existingDataset(c, datasetId), parts));
  })
  .patch("/examples/bulk", doc("Change examples", Changed), body(schema.UpdateExamples), async (c) => {
    const given = c.req.valid("json").map(({ id, ...rest }) => readExampleInput(id, rest));
    checkSources(c.get("principal"), given);
    const first = await existingExample(c, given[0]?.id ?? "");
    const { ids } = await updateExamples(c.env, await existingDataset(c, first.datasetId), given);
    return c.json({ message: `${ids.length} examples updated`, count: ids.length, example_ids: ids });
  })
  .patch(
    "/examples/:example_id",
    doc("Change an example", Example),
    param(schema.ExampleId),
    body(schema.UpdateExample),
    async (c) => {
      const { id, datasetId } = await existingExample(c, c.req.valid("param").example_id);
      const dataset = await existingDataset(c, datasetId);
      const parts = [readExampleInput(id, c.req.valid("json"))];
      checkSources(c.get("principal"), parts);
      return writtenExampleResponse(c, await updateExamples(c.env, dataset, parts));
    },
  )
  .delete("/examples/:example_id", doc("Delete an example", ResultMessage), param(schema.ExampleId), async (c) => {
    const { id } = await existingExample(c, c.req.valid("param").example_id);
    await audit(c, { action: "example.deleted", targetId: id });
    await removeExamples(c.env, c.get("principal").workspaceId, [id]);
    return c.json({ message: "Example deleted" });
  })
  .delete("/examples", doc("Delete examples", ResultMessage), query(schema.DeleteExamples), async (c) => {
    const { example_ids } = c.req.valid("query");
    const detail = { examples: example_ids.length, example_ids: example_ids.slice(0, 100) };
    await audit(c, { action: "example.deleted", targetId: example_ids[0] ?? "", detail });
    await removeExamples(c.env, c.get("principal").workspaceId, example_ids);
    return c.json({ message: "Examples deleted" });
  });

async function versionTime(c: Context<App>, asOf: string | undefined, dataset: string | undefined) {
  return resolveVersion(database(c.env.DB), c.get("principal").workspaceId, dataset, asOf);
}

async function existingExample(c: Context<App>, id: string, asOf?: number): Promise<ExampleRow> {
  const [row] = await findExamples(database(c.env.DB), c.get("principal").workspaceId, [id], asOf);
  if (!row) throw new Problem(404, "Example not found.");
  return row;
}

async function writtenRows(c: Context<App>, { ids, asOf }: WrittenVersion): Promise<ExampleRow[]> {
  const rows = await findExamples(database(c.env.DB), c.get("principal").workspaceId, ids, asOf);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

async function writtenExampleResponse(c: Context<App>, written: WrittenVersion): Promise<Response> {
  const [row] = await writtenRows(c, written);
  if (!row) throw new Problem(404, "Example not found.");
  return exampleResponse(c.env, serverAddress(c), row);
}

async function writtenExamplesResponse(c: Context<App>, written: WrittenVersion): Promise<Response> {
  return examplesResponse(c.env, serverAddress(c), await writtenRows(c, written));
}

// Examples as the current SDKs send them: multipart/form-data, and changes of many examples' metadata.

const platformDoc = createDoc("Examples");

const Statuses = v.object({
  statuses: v.array(
    v.object({ id: Id, status: v.picklist(["UPDATED", "NOT_FOUND"]), description: v.optional(v.string()) }),
  ),
});
const WrittenExamples = v.object({ count: Count, example_ids: v.array(Id), as_of: Time });

export const platformExamples = new Hono<App>()
  .post(
    "/datasets/examples/delete",
    platformDoc("Delete examples, from all versions too", ResultMessage),
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
    platformDoc("Delete an example of a dataset", NOTHING),
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
    platformDoc("Change the metadata of many examples", { 207: Statuses }),
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
    platformDoc("Create examples as multipart/form-data", { 201: WrittenExamples }),
    param(DatasetId),
    (c) => withParts(c, c.req.valid("param").dataset_id, createExamples),
  )
  .patch(
    "/datasets/:dataset_id/examples",
    platformDoc("Change examples as multipart/form-data", { 201: WrittenExamples }),
    param(DatasetId),
    (c) => withParts(c, c.req.valid("param").dataset_id, updateExamples),
  );

type Write = (env: Env, dataset: DatasetRow, given: ExampleInput[]) => Promise<WrittenVersion>;

/** Reads the parts within the memory budget of ingest, and writes their examples. */
async function withParts(c: Context<App>, datasetId: string, write: Write): Promise<Response> {
  const dataset = await existingDataset(c, datasetId);
  return withReservation(c, async (claim) => {
    const boundary = readBoundary(c.req.header("content-type") ?? null);
    const parts = new ExampleParts();
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

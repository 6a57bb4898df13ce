/** Examples over JSON: `/examples`. */
import * as v from "valibot";
import { Count, Id, Message } from "../../../http/shapes.ts";
import { type Context, Hono } from "hono";
import { audit } from "../../../access/audit/record.ts";
import { database } from "../../../db/client.ts";
import { boundAnswer } from "../../../lib/bytes.ts";
import { createDoc } from "../../../http/route.ts";
import { serverAddress } from "../../../http/context.ts";
import { Problem } from "../../../lib/problem.ts";
import type { App } from "../../../http/context.ts";
import { body, param, query } from "../../../http/validate.ts";
import { idempotentId } from "../../../http/idempotent-id.ts";
import { existingDataset } from "../../datasets/existing.ts";
import { resolveVersion } from "../../datasets/versions.ts";
import { Example, exampleAnswer, examplesAnswer, chooseFields } from "./row.ts";
import { givenExample } from "./input.ts";
import * as schema from "./schema.ts";
import { checkSources } from "../../datasets/examples/source.ts";
import { countMatching, type ExampleRow, findExamples, listExamples, measureExamples } from "./store.ts";
import { createExamples, removeExamples, updateExamples, type Written } from "./write.ts";

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
      await boundAnswer(wanted.limit, () => measureExamples(db, workspaceId, wanted));
    }
    const rows = await listExamples(db, workspaceId, wanted);
    return examplesAnswer(c.env, serverAddress(c), rows, chooseFields(select));
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
      return exampleAnswer(c.env, serverAddress(c), await existingExample(c, example_id, asOf));
    },
  )
  .post("/examples", doc("Create an example", Example), body(schema.CreateExample), async (c) => {
    const { id = idempotentId(c), dataset_id, ...given } = c.req.valid("json");
    const parts = [givenExample(id, given)];
    checkSources(c.get("principal"), parts);
    return oneAnswer(c, await createExamples(c.env, await existingDataset(c, dataset_id), parts));
  })
  .post("/examples/bulk", doc("Create examples", v.array(Example)), body(schema.CreateExamples), async (c) => {
    const given = c.req.valid("json");
    const groups = [...Map.groupBy(given, ({ dataset_id }) => dataset_id)];
    const [[datasetId, group] = ["", []], ...others] = groups;
    if (others.length > 0) throw new Problem(422, "Invalid body: all examples must be of one dataset.");
    const parts = group.map(({ id, ...rest }, n) => givenExample(id ?? idempotentId(c, String(n)), rest));
    checkSources(c.get("principal"), parts);
    return manyAnswer(c, await createExamples(c.env, await existingDataset(c, datasetId), parts));
  })
  .patch("/examples/bulk", doc("Change examples", Changed), body(schema.UpdateExamples), async (c) => {
    const given = c.req.valid("json").map(({ id, ...rest }) => givenExample(id, rest));
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
      const parts = [givenExample(id, c.req.valid("json"))];
      checkSources(c.get("principal"), parts);
      return oneAnswer(c, await updateExamples(c.env, dataset, parts));
    },
  )
  .delete("/examples/:example_id", doc("Delete an example", Message), param(schema.ExampleId), async (c) => {
    const { id } = await existingExample(c, c.req.valid("param").example_id);
    await audit(c, { action: "example.deleted", targetId: id });
    await removeExamples(c.env, c.get("principal").workspaceId, [id]);
    return c.json({ message: "Example deleted" });
  })
  .delete("/examples", doc("Delete examples", Message), query(schema.DeleteExamples), async (c) => {
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

async function writtenRows(c: Context<App>, { ids, asOf }: Written): Promise<ExampleRow[]> {
  const rows = await findExamples(database(c.env.DB), c.get("principal").workspaceId, ids, asOf);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

async function oneAnswer(c: Context<App>, written: Written): Promise<Response> {
  const [row] = await writtenRows(c, written);
  if (!row) throw new Problem(404, "Example not found.");
  return exampleAnswer(c.env, serverAddress(c), row);
}

async function manyAnswer(c: Context<App>, written: Written): Promise<Response> {
  return examplesAnswer(c.env, serverAddress(c), await writtenRows(c, written));
}

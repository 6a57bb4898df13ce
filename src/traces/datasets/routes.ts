/** Datasets: create, list, read, change, delete. */
import { Message } from "../../http/shapes.ts";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { audit } from "../../access/audit/record.ts";
import { database } from "../../db/client.ts";
import { isTaken } from "../../db/writes.ts";
import { createDoc } from "../../http/route.ts";
import { Uuid } from "../../http/shapes.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { body, param, query } from "../../http/validate.ts";
import { newOrEarlier } from "../../http/idempotent-id.ts";
import { destroyDataset } from "./destroy.ts";
import { existingDataset } from "./existing.ts";
import { CreateDataset, ListDatasets, UpdateDataset } from "../review/datasets/schema.ts";
import { Dataset, toWireDatasets } from "../review/datasets/row.ts";
import { type DatasetRow, findDataset, insertDataset, listDatasets, updateDataset } from "./store.ts";

const doc = createDoc("Datasets");

const DatasetId = v.object({ dataset_id: Uuid });
const TAKEN = "A dataset with this name or id exists.";

export const datasets = new Hono<App>()
  .post("/datasets", doc("Create a dataset", Dataset), body(CreateDataset), async (c) => {
    const given = c.req.valid("json");
    const now = Date.now();
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    const { id, earlier } = await newOrEarlier(c, (one) => findDataset(db, workspaceId, one));
    if (earlier) return c.json(await toWire(c, earlier));
    const made = await insertDataset(db, {
      id: given.id ?? id,
      workspaceId,
      name: given.name,
      description: given.description ?? null,
      dataType: given.data_type ?? "kv",
      metadata: given.metadata ?? given.extra?.metadata ?? {},
      inputsSchema: given.inputs_schema_definition ?? null,
      outputsSchema: given.outputs_schema_definition ?? null,
      createdAt: now,
      modifiedAt: now,
      examplesAt: 0,
    });
    if (!made) throw new Problem(409, TAKEN);
    return c.json(await toWire(c, made));
  })
  .get("/datasets", doc("List datasets", v.array(Dataset)), query(ListDatasets), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    return c.json(await toWireDatasets(db, workspaceId, await listDatasets(db, workspaceId, c.req.valid("query"))));
  })
  .get("/datasets/:dataset_id", doc("Read a dataset", Dataset), param(DatasetId), async (c) =>
    c.json(await toWire(c, await existingDataset(c, c.req.valid("param").dataset_id))),
  )
  .patch(
    "/datasets/:dataset_id",
    doc("Change a dataset", Dataset),
    param(DatasetId),
    body(UpdateDataset),
    async (c) => {
      const row = await existingDataset(c, c.req.valid("param").dataset_id);
      const given = c.req.valid("json");
      const db = database(c.env.DB);
      const changed = await updateDataset(db, row.workspaceId, row.id, {
        name: given.name,
        description: given.description,
        metadata: given.metadata,
        inputsSchema: given.inputs_schema_definition,
        outputsSchema: given.outputs_schema_definition,
        modifiedAt: Date.now(),
      }).catch((error: unknown) => {
        throw isTaken(error) ? new Problem(409, TAKEN) : error;
      });
      return c.json(await toWire(c, changed ?? row));
    },
  )
  .delete("/datasets/:dataset_id", doc("Delete a dataset with its examples", Message), param(DatasetId), async (c) => {
    const row = await existingDataset(c, c.req.valid("param").dataset_id);
    await audit(c, { action: "dataset.deleted", targetId: row.id, detail: { name: row.name } });
    await destroyDataset(c.env, row);
    return c.json({ message: "Dataset deleted" });
  });

async function toWire(c: Context<App>, row: DatasetRow): Promise<Dataset | undefined> {
  const [dataset] = await toWireDatasets(database(c.env.DB), row.workspaceId, [row]);
  return dataset;
}

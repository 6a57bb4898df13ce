/** Datasets, as far as experiments refer to them: created, found and deleted; examples are kept elsewhere. */
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { database } from "../../db/client.ts";
import { maxBytes, METADATA_BYTES } from "../../http/bytes.ts";
import { documented } from "../../http/documented.ts";
import { optional, pagingQuery } from "../../http/fields.ts";
import { Problem } from "../../http/problem.ts";
import type { App } from "../../http/types.ts";
import { body, param, query } from "../../http/validate.ts";
import { Uuid } from "../query/schema.ts";
import { countExperiments } from "../store.ts";
import { type DatasetRow, deleteDataset, findDataset, insertDataset, listDatasets } from "./store.ts";

const doc = documented("Datasets");

const CreateDataset = v.looseObject({
  id: optional(Uuid),
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(500)),
  description: optional(v.pipe(v.string(), v.maxLength(10_000, "must be at most 10000 characters"))),
  data_type: optional(v.picklist(["kv", "llm", "chat"])),
  metadata: optional(v.pipe(v.record(v.string(), v.unknown()), maxBytes(METADATA_BYTES))),
});
const ListDatasets = v.object({
  id: v.optional(Uuid),
  name: v.optional(v.string()),
  name_contains: v.optional(v.string()),
  ...pagingQuery(100),
});
const DatasetId = v.object({ dataset_id: Uuid });

export const datasets = new Hono<App>()
  .post("/datasets", doc("Create a dataset"), body(CreateDataset), async (c) => {
    const { id = crypto.randomUUID(), name, description = null, data_type = "kv", metadata = {} } = c.req.valid("json");
    const { workspaceId } = c.get("principal");
    const now = Date.now();
    const row = { id, workspaceId, name, description, dataType: data_type, metadata, createdAt: now, modifiedAt: now };
    const made = await insertDataset(database(c.env.DB), row);
    if (!made) throw new Problem(409, "A dataset with this name or id exists.");
    return c.json(await shown(c, made));
  })
  .get("/datasets", doc("List datasets"), query(ListDatasets), async (c) => {
    const rows = await listDatasets(database(c.env.DB), c.get("principal").workspaceId, c.req.valid("query"));
    return c.json(await Promise.all(rows.map((row) => shown(c, row))));
  })
  .get("/datasets/:dataset_id", doc("Read a dataset"), param(DatasetId), async (c) => {
    const row = await findDataset(database(c.env.DB), c.get("principal").workspaceId, c.req.valid("param").dataset_id);
    if (!row) throw new Problem(404, "Dataset not found.");
    return c.json(await shown(c, row));
  })
  .delete("/datasets/:dataset_id", doc("Delete a dataset"), param(DatasetId), async (c) => {
    const { workspaceId } = c.get("principal");
    const gone = await deleteDataset(database(c.env.DB), workspaceId, c.req.valid("param").dataset_id);
    if (!gone) throw new Problem(404, "Dataset not found.");
    return c.json({ message: "Dataset deleted" });
  });

async function shown(c: Context<App>, row: DatasetRow) {
  return {
    id: row.id,
    tenant_id: row.workspaceId,
    name: row.name,
    description: row.description,
    data_type: row.dataType,
    created_at: new Date(row.createdAt).toISOString(),
    modified_at: new Date(row.modifiedAt).toISOString(),
    example_count: 0,
    session_count: await countExperiments(database(c.env.DB), row.workspaceId, row.id),
    metadata: row.metadata,
    externally_managed: false,
  };
}

/** Versions and splits of a dataset. */
import { Id, Time, pagingQuery, ResultMessage, Uuid } from "../../../http/shapes.ts";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { database } from "../../../db/client.ts";
import { createDoc } from "../../../http/route.ts";
import { Problem } from "../../../lib/problem.ts";
import { type App, newOrEarlier } from "../../../http/context.ts";
import { body, param, query } from "../../../http/validate.ts";
import { changeMetadata } from "../examples/write.ts";
import { AsOf, ChangeSplit, DatasetId as VersionedDatasetId } from "../examples/schema.ts";
import { diffExamples, knownIds, listSplits, deleteDatasetExamples } from "../examples/store.ts";
import {
  existingDataset,
  type DatasetRow,
  listVersions,
  saveTag,
  listTags,
  LATEST,
  resolveVersion,
  deleteDataset,
  deleteDatasetVersions,
  findDataset,
  insertDataset,
  listDatasets,
  updateDataset,
} from "./store.ts";
import { deleteDatasetComparatives } from "../experiments/store.ts";
import { deleteBlobs, datasetPrefix } from "../examples/bodies.ts";
import { deleteShare } from "../share/store.ts";
import { audit } from "../../../access/audit/record.ts";
import { isTaken } from "../../../db/writes.ts";
import { CreateDataset, ListDatasets, UpdateDataset } from "./schema.ts";
import { Dataset, toWireDatasets } from "./row.ts";

const doc = createDoc("Datasets");

const Version = v.object({ as_of: Time, tags: v.array(v.string()) });
const SplitNames = v.array(v.string());
const ExamplesDiff = v.object({
  examples_added: v.array(Id),
  examples_modified: v.array(Id),
  examples_removed: v.array(Id),
});

const ListVersions = v.object(pagingQuery(100));
const ReadVersion = v.object({ as_of: v.optional(AsOf), tag: v.optional(AsOf) });
const DiffVersions = v.object({ from_version: AsOf, to_version: AsOf });
const ReadSplits = v.object({ as_of: v.optional(AsOf) });
const SaveTag = v.looseObject({
  as_of: AsOf,
  tag: v.pipe(v.string(), v.minLength(1), v.maxLength(255, "must be at most 255 characters")),
});

export const datasetVersionRoutes = new Hono<App>()
  .get(
    "/datasets/:dataset_id/versions",
    doc("List versions, newest first", v.array(Version)),
    param(VersionedDatasetId),
    query(ListVersions),
    async (c) => {
      const dataset = await existingDataset(c, c.req.valid("param").dataset_id);
      const db = database(c.env.DB);
      const times = await listVersions(db, dataset.workspaceId, dataset.id, c.req.valid("query"));
      return c.json(await toWireVersions(c, dataset, times));
    },
  )
  .get(
    "/datasets/:dataset_id/versions/diff",
    doc("Which examples differ between two versions", ExamplesDiff),
    param(VersionedDatasetId),
    query(DiffVersions),
    async (c) => {
      const { id, workspaceId } = await existingDataset(c, c.req.valid("param").dataset_id);
      const { from_version, to_version } = c.req.valid("query");
      const db = database(c.env.DB);
      const at = async (version: string) => (await resolveVersion(db, workspaceId, id, version)) ?? Date.now();
      return c.json(await diffExamples(db, workspaceId, id, await at(from_version), await at(to_version)));
    },
  )
  .get(
    "/datasets/:dataset_id/version",
    doc("Read the version of a time or name", Version),
    param(VersionedDatasetId),
    query(ReadVersion),
    async (c) => {
      const dataset = await existingDataset(c, c.req.valid("param").dataset_id);
      const { as_of, tag } = c.req.valid("query");
      if ((as_of === undefined) === (tag === undefined)) {
        throw new Problem(422, "Invalid query: give as_of or tag, and not both.");
      }
      const time = await existingVersion(c, dataset, as_of ?? tag);
      return c.json((await toWireVersions(c, dataset, [time]))[0]);
    },
  )
  .put(
    "/datasets/:dataset_id/tags",
    doc("Give a version a name", Version),
    param(VersionedDatasetId),
    body(SaveTag),
    async (c) => {
      const dataset = await existingDataset(c, c.req.valid("param").dataset_id);
      const { as_of, tag } = c.req.valid("json");
      if (tag === LATEST) throw new Problem(422, `Invalid body.tag: "${LATEST}" is always the newest version.`);
      const { workspaceId, id: datasetId } = dataset;
      const asOf = await existingVersion(c, dataset, as_of);
      await saveTag(database(c.env.DB), { workspaceId, datasetId, tag, asOf });
      return c.json((await toWireVersions(c, dataset, [asOf]))[0]);
    },
  )
  .get(
    "/datasets/:dataset_id/splits",
    doc("List the splits of a dataset", SplitNames),
    param(VersionedDatasetId),
    query(ReadSplits),
    async (c) => {
      const { id, workspaceId } = await existingDataset(c, c.req.valid("param").dataset_id);
      const db = database(c.env.DB);
      const asOf = await resolveVersion(db, workspaceId, id, c.req.valid("query").as_of);
      return c.json(await listSplits(db, workspaceId, id, asOf));
    },
  )
  .put(
    "/datasets/:dataset_id/splits",
    doc("Add examples to a split, or remove them", SplitNames),
    param(VersionedDatasetId),
    body(ChangeSplit),
    async (c) => {
      const dataset = await existingDataset(c, c.req.valid("param").dataset_id);
      const { split_name, examples, remove = false } = c.req.valid("json");
      const operation = remove ? ("ARRAY_REMOVE" as const) : ("ARRAY_ADD" as const);
      const db = database(c.env.DB);
      const known = await knownIds(db, dataset.workspaceId, dataset.id, examples);
      if (examples.some((id) => !known.has(id))) throw new Problem(404, "The dataset lacks one of these examples.");
      await changeMetadata(db, dataset, examples, [{ key: "dataset_split", operation, values: [split_name] }]);
      return c.json(await listSplits(db, dataset.workspaceId, dataset.id));
    },
  );

/** The time of the newest version that is not later than `version`. @throws Problem 404 */
async function existingVersion(c: Context<App>, dataset: DatasetRow, version: string | undefined): Promise<number> {
  const db = database(c.env.DB);
  const upTo = await resolveVersion(db, dataset.workspaceId, dataset.id, version);
  const [time] = await listVersions(db, dataset.workspaceId, dataset.id, { upTo, limit: 1, offset: 0 });
  if (time === undefined) throw new Problem(404, "The dataset has no version of that time.");
  return time;
}

async function toWireVersions(
  c: Context<App>,
  { workspaceId, id, examplesAt }: DatasetRow,
  times: number[],
): Promise<v.InferOutput<typeof Version>[]> {
  const tags = await listTags(database(c.env.DB), workspaceId, id, times);
  return times.map((time) => ({
    as_of: new Date(time).toISOString(),
    tags: [...(time === examplesAt ? [LATEST] : []), ...(tags.get(time) ?? [])],
  }));
}

/**
 * Deletes a dataset with its examples, in all versions, and their objects in R2. The dataset itself is deleted last, so that a
 * request that failed can be sent again. A request that adds examples in the meantime fails, or its examples are
 * deleted too.
 */
export async function destroyDataset(env: Env, { workspaceId, id }: DatasetRow): Promise<void> {
  const db = database(env.DB);
  await deleteDatasetExamples(db, workspaceId, id);
  await deleteBlobs(env.BLOBS, datasetPrefix(workspaceId, id));
  await deleteDatasetVersions(db, workspaceId, id);
  await deleteDatasetComparatives(db, workspaceId, id);
  await deleteShare(db, { workspaceId, kind: "dataset", targetId: id });
  await deleteDataset(db, workspaceId, id);
  // Examples that were written after the first deletion.
  await deleteDatasetExamples(db, workspaceId, id);
  await deleteBlobs(env.BLOBS, datasetPrefix(workspaceId, id));
}

// Datasets: create, list, read, change, delete.

const datasetDoc = createDoc("Datasets");

const DatasetId = v.object({ dataset_id: Uuid });
const TAKEN = "A dataset with this name or id exists.";

export const datasets = new Hono<App>()
  .post("/datasets", datasetDoc("Create a dataset", Dataset), body(CreateDataset), async (c) => {
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
  .get("/datasets", datasetDoc("List datasets", v.array(Dataset)), query(ListDatasets), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    return c.json(await toWireDatasets(db, workspaceId, await listDatasets(db, workspaceId, c.req.valid("query"))));
  })
  .get("/datasets/:dataset_id", datasetDoc("Read a dataset", Dataset), param(DatasetId), async (c) =>
    c.json(await toWire(c, await existingDataset(c, c.req.valid("param").dataset_id))),
  )
  .patch(
    "/datasets/:dataset_id",
    datasetDoc("Change a dataset", Dataset),
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
  .delete(
    "/datasets/:dataset_id",
    datasetDoc("Delete a dataset with its examples", ResultMessage),
    param(DatasetId),
    async (c) => {
      const row = await existingDataset(c, c.req.valid("param").dataset_id);
      await audit(c, { action: "dataset.deleted", targetId: row.id, detail: { name: row.name } });
      await destroyDataset(c.env, row);
      return c.json({ message: "Dataset deleted" });
    },
  );

async function toWire(c: Context<App>, row: DatasetRow): Promise<Dataset | undefined> {
  const [dataset] = await toWireDatasets(database(c.env.DB), row.workspaceId, [row]);
  return dataset;
}

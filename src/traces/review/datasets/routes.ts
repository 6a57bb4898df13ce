/** Versions and splits of a dataset. */
import { Id, Time } from "../../../http/shapes.ts";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { database } from "../../../db/client.ts";
import { createDoc } from "../../../http/route.ts";
import { pagingQuery } from "../../../http/shapes.ts";
import { Problem } from "../../../lib/problem.ts";
import type { App } from "../../../http/context.ts";
import { body, param, query } from "../../../http/validate.ts";
import { changeMetadata } from "../../datasets/examples/metadata.ts";
import { AsOf, ChangeSplit, DatasetId } from "../examples/schema.ts";
import { diffExamples, knownIds, listSplits } from "../examples/store.ts";
import { existingDataset } from "../../datasets/existing.ts";
import type { DatasetRow } from "../../datasets/store.ts";
import { listVersions, saveTag, listTags } from "./store.ts";
import { LATEST, resolveVersion } from "../../datasets/versions.ts";

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
    param(DatasetId),
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
    param(DatasetId),
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
    param(DatasetId),
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
    param(DatasetId),
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
    param(DatasetId),
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
    param(DatasetId),
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

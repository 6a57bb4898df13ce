/** Examples that are alike, and copies of examples. */
import { Id, Time } from "../../../http/shapes.ts";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { database } from "../../../db/client.ts";
import { openBlobs } from "../../../access/encryption/blobs.ts";
import { createDoc } from "../../../http/route.ts";
import { choosing, optional, Uuid } from "../../../http/shapes.ts";
import { JsonObject } from "../../../lib/json.ts";
import { serverAddress } from "../../../http/context.ts";
import { Problem } from "../../../lib/problem.ts";
import type { App } from "../../../http/context.ts";
import { body, param } from "../../../http/validate.ts";
import { idempotentId } from "../../../http/idempotent-id.ts";
import { runsAnswer } from "../../query/responses.ts";
import { cloneExamples } from "./source.ts";
import { Example, examplesAnswer, exampleValue } from "./row.ts";
import { AsOf, DatasetId, Splits } from "./schema.ts";
import { findExamples } from "./store.ts";
import { existingDataset } from "../../datasets/existing.ts";
import { LATEST, resolveVersion } from "../../datasets/versions.ts";
import { searchExamples } from "../../datasets/search/search.ts";

const doc = createDoc("Examples");

const Search = choosing({
  inputs: JsonObject,
  limit: optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100))),
  filter: optional(v.pipe(v.string(), v.maxLength(20_000))),
  as_of: optional(AsOf),
  debug: optional(v.boolean()),
});
const Index = choosing({ tag: optional(v.string()) });
const Clone = choosing({
  source_dataset_id: Uuid,
  target_dataset_id: Uuid,
  as_of: optional(AsOf),
  examples: optional(v.pipe(v.array(Uuid), v.maxLength(10_000))),
  split: optional(Splits),
});

const FoundExamples = v.object({
  examples: v.array(v.object({ ...Example.entries, score: v.number() })),
});
const Indexed = v.object({ dataset_id: Id, tag: v.string(), last_updated_version: Time });

export const exampleSearch = new Hono<App>()
  .post("/datasets/clone", doc("Copy examples to another dataset", v.array(Example)), body(Clone), async (c) => {
    const { source_dataset_id, target_dataset_id, as_of, examples: id, split: splits } = c.req.valid("json");
    const source = await existingDataset(c, source_dataset_id);
    const target = await existingDataset(c, target_dataset_id);
    const asOf = await resolveVersion(database(c.env.DB), source.workspaceId, source.id, as_of);
    const which = { ...(id && { id }), ...(splits && { splits }), ...(asOf !== undefined && { asOf }) };
    const newId = (place: number) => idempotentId(c, String(place));
    const ids = await cloneExamples(c.env, source, target, which, newId);
    return examplesAnswer(c.env, serverAddress(c), await findRows(c, ids));
  })
  .post(
    "/datasets/:dataset_id/search",
    doc("Find examples by their inputs", FoundExamples),
    param(DatasetId),
    body(Search),
    async (c) => {
      const { inputs, limit = 10, filter, as_of } = c.req.valid("json");
      const dataset = await existingDataset(c, c.req.valid("param").dataset_id);
      const asOf = await resolveVersion(database(c.env.DB), dataset.workspaceId, dataset.id, as_of);
      const which = { ...(filter && { filter }), ...(asOf !== undefined && { asOf }) };
      const best = await searchExamples(c.env, dataset, inputs, which, limit);
      const rows = await findRows(
        c,
        best.map(({ id }) => id),
        asOf,
      );
      const scores = new Map(best.map(({ id, score }) => [id, score]));
      const shown = rows.map(async (row) => ({
        ...(await exampleValue(c.env, serverAddress(c), row)),
        score: scores.get(row.id),
      }));
      return runsAnswer(openBlobs(c.env), { examples: await Promise.all(shown) });
    },
  )
  .post(
    "/datasets/:dataset_id/index",
    doc("Allow searches in a dataset", Indexed),
    param(DatasetId),
    body(Index),
    async (c) => requireIndexed(c, c.req.valid("param").dataset_id, c.req.valid("json").tag),
  )
  .post(
    "/datasets/:dataset_id/index/sync",
    doc("Update the index of a dataset", Indexed),
    param(DatasetId),
    async (c) => requireIndexed(c, c.req.valid("param").dataset_id),
  );

/** Older SDKs make an index before they search. A search reads the examples themselves, so there is nothing to make. */
async function requireIndexed(c: Context<App>, id: string, tag: string = LATEST): Promise<Response> {
  const dataset = await existingDataset(c, id);
  if (tag !== LATEST) throw new Problem(501, "Weir searches the newest version. Give as_of with the search.");
  return c.json({ dataset_id: id, tag, last_updated_version: new Date(dataset.examplesAt).toISOString() });
}

/** The examples with these ids, in their order. */
async function findRows(c: Context<App>, ids: string[], asOf?: number) {
  const rows = await findExamples(database(c.env.DB), c.get("principal").workspaceId, ids, asOf);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

/** Comparisons that `evaluateComparative` of the SDKs creates. Feedback names them as `comparative_experiment_id`. */
import { AnyObject, Id, Message, Time as TimeText } from "../../http/shapes.ts";
import { type Context, Hono } from "hono";
import * as v from "valibot";
import { audit } from "../../access/audit/record.ts";
import { database } from "../../db/client.ts";
import { maxBytes, METADATA_BYTES } from "../../lib/bytes.ts";
import { createDoc } from "../../http/route.ts";
import { choosing, many, optional, pagingQuery, Uuid } from "../../http/shapes.ts";
import { JsonMembers } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { body, param, query } from "../../http/validate.ts";
import { newOrEarlier } from "../../http/idempotent-id.ts";
import { Time } from "../time.ts";
import {
  type ComparativeRow,
  deleteComparative,
  insertComparative,
  listComparatives,
} from "../review/experiments/store.ts";
import { existingDataset, existingExperiments, knownExperiments } from "./existing.ts";

const doc = createDoc("Experiments");

const Comparison = v.pipe(
  v.object({
    id: Id,
    tenant_id: v.string(),
    name: v.nullable(v.string()),
    description: v.nullable(v.string()),
    reference_dataset_id: Id,
    created_at: TimeText,
    modified_at: TimeText,
    experiments_info: v.array(v.object({ id: Id, name: v.string() })),
    extra: AnyObject,
  }),
  v.title("ComparativeExperiment"),
);

const CreateComparative = v.looseObject({
  id: optional(Uuid),
  name: optional(v.pipe(v.string(), v.maxLength(500, "must be at most 500 characters"))),
  description: optional(v.pipe(v.string(), v.maxLength(10_000, "must be at most 10000 characters"))),
  experiment_ids: v.pipe(v.array(Uuid), v.minLength(1), v.maxLength(100)),
  reference_dataset_id: Uuid,
  created_at: optional(Time),
  extra: optional(v.pipe(JsonMembers, maxBytes(METADATA_BYTES))),
});
const ListComparatives = choosing({ id: many(Uuid), name: v.optional(v.string()), ...pagingQuery(100) });
const DatasetId = v.object({ dataset_id: Uuid });
const ComparativeId = v.object({ comparative_experiment_id: Uuid });

export const comparativeExperiments = new Hono<App>()
  .post(
    "/datasets/comparative",
    doc("Create a comparison of experiments", Comparison),
    body(CreateComparative),
    async (c) => {
      const given = c.req.valid("json");
      const { id: datasetId, workspaceId } = await existingDataset(c, given.reference_dataset_id);
      await existingExperiments(c, datasetId, given.experiment_ids);
      const db = database(c.env.DB);
      const { id, earlier } = await newOrEarlier(c, async (one) => {
        return (await listComparatives(db, workspaceId, datasetId, { id: [one], limit: 1, offset: 0 }))[0];
      });
      if (earlier) return c.json(await toWire(c, earlier));
      const now = Date.now();
      const made = await insertComparative(db, {
        id: given.id ?? id,
        workspaceId,
        name: given.name ?? null,
        description: given.description ?? null,
        datasetId,
        experimentIds: given.experiment_ids,
        extra: given.extra ?? {},
        createdAt: given.created_at === undefined ? now : Math.floor(given.created_at / 1000),
        modifiedAt: now,
      });
      if (!made) throw new Problem(409, "A comparison with this id exists.");
      return c.json(await toWire(c, made));
    },
  )
  .get(
    "/datasets/:dataset_id/comparative",
    doc("List comparisons of experiments, newest first", v.array(Comparison)),
    param(DatasetId),
    query(ListComparatives),
    async (c) => {
      const { id, workspaceId } = await existingDataset(c, c.req.valid("param").dataset_id);
      const rows = await listComparatives(database(c.env.DB), workspaceId, id, c.req.valid("query"));
      return c.json(await Promise.all(rows.map((row) => toWire(c, row))));
    },
  )
  .delete(
    "/datasets/comparative/:comparative_experiment_id",
    doc("Delete a comparison of experiments", Message),
    param(ComparativeId),
    async (c) => {
      const { comparative_experiment_id: id } = c.req.valid("param");
      const gone = await deleteComparative(database(c.env.DB), c.get("principal").workspaceId, id);
      if (!gone) throw new Problem(404, "Comparison not found.");
      await audit(c, { action: "comparison.deleted", targetId: id });
      return c.json({ message: "Comparison deleted" });
    },
  );

async function toWire(c: Context<App>, row: ComparativeRow): Promise<v.InferOutput<typeof Comparison>> {
  const experiments = await knownExperiments(c, row.datasetId, row.experimentIds);
  return {
    id: row.id,
    tenant_id: row.workspaceId,
    name: row.name,
    description: row.description,
    reference_dataset_id: row.datasetId,
    created_at: new Date(row.createdAt).toISOString(),
    modified_at: new Date(row.modifiedAt).toISOString(),
    experiments_info: experiments.map(({ id, name }) => ({ id, name })),
    extra: row.extra,
  };
}

/** What feedback of a key may be: create, list, change, delete. Links for feedback are held to it. */
import * as v from "valibot";
import { AnyObject, Time, ResultMessage } from "../../../http/shapes.ts";
import { Hono } from "hono";
import { audit } from "../../../access/audit/record.ts";
import { database } from "../../../db/client.ts";
import type { FeedbackConfig } from "./table.ts";
import { NOTHING, createDoc } from "../../../http/route.ts";
import { Problem } from "../../../lib/problem.ts";
import { type App, idempotentId } from "../../../http/context.ts";
import { body, query, param, readJson } from "../../../http/validate.ts";
import {
  ConfigKey,
  CreateConfig,
  ListConfigs,
  UpdateConfig,
  FeedbackId,
  ListFeedback,
  UpdateFeedback,
} from "./schema.ts";
import {
  type ConfigRow,
  addConfig,
  changeConfig,
  deleteConfig,
  findConfig,
  listConfigs,
  deleteFeedbackLocation,
  findFeedbackLocation,
  listFeedbackLocations,
} from "./store.ts";
import { StoredFeedback } from "../../types.ts";
import { CHANGED, nextTime, untilUnchanged } from "../../../db/writes.ts";
import { isObject } from "../../../lib/json.ts";
import { CONNECTIONS, inParallel } from "../../../lib/parallel.ts";
import { projectById } from "../../projects/resolve.ts";
import { refuseLegalHold } from "../../projects/retention.ts";
import { listPartitions } from "../../projects/partitions.ts";
import { findProject } from "../../projects/store.ts";
import { tracePartition } from "../../stub.ts";
import { createFeedback, storeFeedback, loadFeedback } from "./create.ts";

const doc = createDoc("Feedback");

const Config = v.pipe(
  v.object({
    feedback_key: v.string(),
    feedback_config: AnyObject,
    is_lower_score_better: v.nullable(v.boolean()),
    tenant_id: v.string(),
    modified_at: Time,
  }),
  v.title("FeedbackConfig"),
);

export const feedbackConfigs = new Hono<App>()
  .post("/feedback-configs", doc("Say what feedback of a key may be", Config), body(CreateConfig), async (c) => {
    const { feedback_key: key, feedback_config: config, is_lower_score_better } = c.req.valid("json");
    const row: ConfigRow = {
      workspaceId: c.get("principal").workspaceId,
      key,
      config,
      isLowerScoreBetter: is_lower_score_better ?? false,
      modifiedAt: Date.now(),
    };
    const held = await addConfig(database(c.env.DB), row);
    // Clients send false for what their caller leaves out, so false says nothing about what an update has changed.
    const isOther = is_lower_score_better && !held.isLowerScoreBetter;
    if (isOther || !isSame(held.config, row.config))
      throw new Problem(400, "The key has another config. Change that one with PATCH.");
    return c.json(toWire(held));
  })
  .get("/feedback-configs", doc("List configs, by key", v.array(Config)), query(ListConfigs), async (c) => {
    const { key: keys, name_contains: nameContains, limit, offset } = c.req.valid("query");
    const wanted = { keys, nameContains, limit, offset };
    return c.json((await listConfigs(database(c.env.DB), c.get("principal").workspaceId, wanted)).map(toWire));
  })
  .patch("/feedback-configs", doc("Change a key's config", Config), body(UpdateConfig), async (c) => {
    const given = c.req.valid("json");
    const { feedback_key: key, is_lower_score_better, add_categories: add, remove_categories: remove } = given;
    const changed = await changeConfig(database(c.env.DB), c.get("principal").workspaceId, key, (row) => {
      const config = given.feedback_config ?? row.config;
      return {
        config: add || remove ? changeCategories(config, { add: add ?? [], remove: remove ?? [] }) : config,
        ...(is_lower_score_better !== undefined && { isLowerScoreBetter: is_lower_score_better }),
      };
    });
    if (!changed) throw new Problem(404, "There is no config of this key.");
    return c.json(toWire(changed));
  })
  .delete("/feedback-configs", doc("Delete a key's config", NOTHING), query(ConfigKey), async (c) => {
    const { workspaceId } = c.get("principal");
    const { feedback_key: targetId } = c.req.valid("query");
    const db = database(c.env.DB);
    if (!(await findConfig(db, workspaceId, targetId))) throw new Problem(404, "There is no config of this key.");
    await audit(c, { action: "feedback_config.deleted", targetId });
    await deleteConfig(db, workspaceId, targetId);
    return c.body(null, 204);
  });

function isSame(a: FeedbackConfig, b: FeedbackConfig): boolean {
  const words = ({ type, min, max, categories }: FeedbackConfig) => {
    const listed = categories?.map(({ value, label }) => [value, label ?? null]) ?? null;
    return JSON.stringify([type, min ?? null, max ?? null, listed]);
  };
  return words(a) === words(b);
}

function toWire({ workspaceId, key, config, isLowerScoreBetter, modifiedAt }: ConfigRow) {
  return {
    feedback_key: key,
    feedback_config: config,
    is_lower_score_better: isLowerScoreBetter,
    tenant_id: workspaceId,
    modified_at: new Date(modifiedAt).toISOString(),
  };
}

interface CategoryChange {
  add: { value: number; label?: string | null | undefined }[];
  remove: number[];
}

/** The fewest categories between which feedback can choose. */
const MIN_CATEGORIES = 2;
const MAX_CATEGORIES = 100;

/** The config with other categories. @throws Problem 422 when a change does not fit it */
function changeCategories(config: FeedbackConfig, { add, remove }: CategoryChange): FeedbackConfig {
  if (config.type !== "categorical") throw new Problem(422, "Only categorical feedback has categories.");
  const kept = (config.categories ?? []).filter(({ value }) => !remove.includes(value));
  const categories = [...kept, ...add];
  if (categories.length < MIN_CATEGORIES) throw new Problem(422, `At least ${MIN_CATEGORIES} categories must remain.`);
  if (categories.length > MAX_CATEGORIES) throw new Problem(422, `A config has at most ${MAX_CATEGORIES} categories.`);
  const labels = categories.flatMap(({ label }) => label ?? []);
  if (new Set(categories.map(({ value }) => value)).size < categories.length || new Set(labels).size < labels.length)
    throw new Problem(422, "Invalid body.add_categories: a value or a label is there twice.");
  return { ...config, categories };
}

// Feedback: create, list, read, change, delete.

const feedbackDoc = createDoc("Feedback");

export const feedback = new Hono<App>()
  .on(
    "POST",
    ["/feedback", "/feedback/eager"],
    feedbackDoc("Give feedback on a run or a project", StoredFeedback),
    async (c) => {
      const given = await readJson(c.req.raw);
      const body = isObject(given) ? { ...given, id: given.id ?? idempotentId(c) } : given;
      return c.json(await createFeedback(c.env, c.get("principal"), body));
    },
  )
  .get(
    "/feedback",
    feedbackDoc("List feedback, newest first", v.array(StoredFeedback)),
    query(ListFeedback),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const places = await listFeedbackLocations(database(c.env.DB), workspaceId, c.req.valid("query"));
      return c.json(await loadFeedback(c.env, workspaceId, places));
    },
  )
  .get("/feedback/:feedback_id", feedbackDoc("Read feedback", StoredFeedback), param(FeedbackId), async (c) => {
    const { workspaceId } = c.get("principal");
    return c.json((await requireFeedback(c.env, workspaceId, c.req.valid("param").feedback_id)).feedback);
  })
  .patch(
    "/feedback/:feedback_id",
    feedbackDoc("Change feedback", StoredFeedback),
    param(FeedbackId),
    body(UpdateFeedback),
    async (c) => {
      const { workspaceId } = c.get("principal");
      const { score, value, comment, correction, error, feedback_config } = c.req.valid("json");
      const changes = Object.entries({ score, value, comment, correction, error, feedback_config });
      const given = Object.fromEntries(changes.filter(([, item]) => item !== undefined));
      const stored = await untilUnchanged(async () => {
        const { place, feedback } = await requireFeedback(c.env, workspaceId, c.req.valid("param").feedback_id);
        const project = await projectById(database(c.env.DB), workspaceId, place.projectId);
        if (!project) throw new Problem(404, "Feedback not found.");
        const modified_at = new Date(nextTime(Date.parse(feedback.modified_at))).toISOString();
        const { projectId, day, shard } = place;
        const identity = { workspaceId, projectId, day, shard, traceTier: project.traceTier };
        const changed = { ...feedback, ...given, modified_at };
        return (await storeFeedback(c.env, identity, changed, feedback.modified_at)) ?? CHANGED;
      });
      return c.json(stored);
    },
  )
  .delete("/feedback/:feedback_id", feedbackDoc("Delete feedback", ResultMessage), param(FeedbackId), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    // The place is deleted last, so that a deletion that failed in between can be sent again.
    const place = await findFeedbackLocation(db, workspaceId, c.req.valid("param").feedback_id);
    if (!place) throw new Problem(404, "Feedback not found.");
    const project = await findProject(db, workspaceId, place.projectId);
    refuseLegalHold(project?.legalHold ?? false);
    await audit(c, { action: "feedback.deleted", targetId: place.id });
    // While feedback moves (ingest/stored.ts), two shards have it.
    const shards = await listPartitions(db, workspaceId, place.projectId, place.day, place.day);
    const holders = new Map([place, ...shards].map((one) => [one.shard, one])).values();
    await inParallel(holders, CONNECTIONS, (one) => tracePartition(c.env, workspaceId, one).deleteFeedback(place.id));
    await deleteFeedbackLocation(db, workspaceId, place.id);
    return c.json({ message: "Feedback deleted" });
  });

async function requireFeedback(env: Env, workspaceId: string, id: string) {
  const place = await findFeedbackLocation(database(env.DB), workspaceId, id);
  const [feedback] = place ? await loadFeedback(env, workspaceId, [place]) : [];
  if (!place || !feedback) throw new Problem(404, "Feedback not found.");
  return { place, feedback };
}

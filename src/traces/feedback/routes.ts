/** Feedback: create, list, read, change, delete. */
import { StoredFeedback } from "../types.ts";
import { Message } from "../../http/shapes.ts";
import * as v from "valibot";
import { Hono } from "hono";
import { audit } from "../../access/audit/record.ts";
import { database } from "../../db/client.ts";
import { CHANGED, nextTime, untilUnchanged } from "../../db/writes.ts";
import { createDoc } from "../../http/route.ts";
import { isObject } from "../../lib/json.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { body, param, query, readJson } from "../../http/validate.ts";
import { idempotentId } from "../../http/idempotent-id.ts";
import { projectById } from "../projects/resolve.ts";
import { refuseHeld } from "../projects/retention.ts";
import { listPartitions } from "../projects/partitions.ts";
import { findProject } from "../projects/store.ts";
import { tracePartition } from "../stub.ts";
import { createFeedback, storeFeedback } from "../review/feedback/create.ts";
import { loadFeedback } from "./load.ts";
import { FeedbackId, ListFeedback, UpdateFeedback } from "../review/feedback/schema.ts";
import { deletePlace, findPlace, listPlaces } from "./store.ts";

const doc = createDoc("Feedback");

export const feedback = new Hono<App>()
  .on(
    "POST",
    ["/feedback", "/feedback/eager"],
    doc("Give feedback on a run or a project", StoredFeedback),
    async (c) => {
      const given = await readJson(c.req.raw);
      const body = isObject(given) ? { ...given, id: given.id ?? idempotentId(c) } : given;
      return c.json(await createFeedback(c.env, c.get("principal"), body));
    },
  )
  .get("/feedback", doc("List feedback, newest first", v.array(StoredFeedback)), query(ListFeedback), async (c) => {
    const { workspaceId } = c.get("principal");
    const places = await listPlaces(database(c.env.DB), workspaceId, c.req.valid("query"));
    return c.json(await loadFeedback(c.env, workspaceId, places));
  })
  .get("/feedback/:feedback_id", doc("Read feedback", StoredFeedback), param(FeedbackId), async (c) => {
    const { workspaceId } = c.get("principal");
    return c.json((await requireFeedback(c.env, workspaceId, c.req.valid("param").feedback_id)).feedback);
  })
  .patch(
    "/feedback/:feedback_id",
    doc("Change feedback", StoredFeedback),
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
  .delete("/feedback/:feedback_id", doc("Delete feedback", Message), param(FeedbackId), async (c) => {
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    // The place is deleted last, so that a deletion that failed in between can be sent again.
    const place = await findPlace(db, workspaceId, c.req.valid("param").feedback_id);
    if (!place) throw new Problem(404, "Feedback not found.");
    const project = await findProject(db, workspaceId, place.projectId);
    refuseHeld(project?.legalHold ?? false);
    await audit(c, { action: "feedback.deleted", targetId: place.id });
    // While feedback moves (move.ts), two shards have it.
    const shards = await listPartitions(db, workspaceId, place.projectId, place.day, place.day);
    const holders = new Map([place, ...shards].map((one) => [one.shard, one])).values();
    await inParallel(holders, CONNECTIONS, (one) => tracePartition(c.env, workspaceId, one).deleteFeedback(place.id));
    await deletePlace(db, workspaceId, place.id);
    return c.json({ message: "Feedback deleted" });
  });

async function requireFeedback(env: Env, workspaceId: string, id: string) {
  const place = await findPlace(database(env.DB), workspaceId, id);
  const [feedback] = place ? await loadFeedback(env, workspaceId, [place]) : [];
  if (!place || !feedback) throw new Problem(404, "Feedback not found.");
  return { place, feedback };
}

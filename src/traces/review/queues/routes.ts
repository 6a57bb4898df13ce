/** Annotation queues: create, list, read, change, delete, and their sizes. */
import * as v from "valibot";
import { Count, ResultMessage } from "../../../http/shapes.ts";
import { type Context, Hono } from "hono";
import { audit } from "../../../access/audit/record.ts";
import { nameCaller, type App, newOrEarlier } from "../../../http/context.ts";
import { requirePermission } from "../../../access/auth/roles.ts";
import { database } from "../../../db/client.ts";
import { isTaken } from "../../../db/writes.ts";
import { createDoc } from "../../../http/route.ts";
import { Problem } from "../../../lib/problem.ts";
import { body, param, query } from "../../../http/validate.ts";
import { experimentRuns } from "../experiments/rows.ts";
import { existingDataset } from "../datasets/store.ts";
import { listConfigs } from "../feedback/store.ts";
import { listProjects } from "../../projects/store.ts";
import { addItems, existingQueue } from "./items.ts";
import { countItems, type ItemQuery } from "./item-store.ts";
import { Queue, QueueWithRubric, toWireQueue, toWireRubric } from "./row.ts";
import * as schema from "./schema.ts";
import {
  countRuns,
  deleteQueue,
  findQueue,
  insertQueue,
  listQueues,
  listQueuesOfRun,
  MAX_QUEUES,
  type QueueRow,
  updateQueue,
} from "./store.ts";

const doc = createDoc("Annotation queues");

const CountedQueue = v.object({ ...Queue.entries, total_runs: Count });
const Added = v.object({ ...ResultMessage.entries, count: Count });
const Size = v.object({ size: Count });

const USUAL_MINUTES = 60;

export const annotationQueues = new Hono<App>()
  .post("/annotation-queues", doc("Create an annotation queue", Queue), body(schema.CreateQueue), async (c) => {
    const given = c.req.valid("json");
    const { workspaceId } = c.get("principal");
    const db = database(c.env.DB);
    if (given.default_dataset) await existingDataset(c, given.default_dataset);
    const { id, earlier } = await newOrEarlier(c, (one) => findQueue(db, workspaceId, one));
    if (earlier) return c.json(toWireQueue(earlier));
    const now = Date.now();
    const row: QueueRow = {
      id: given.id ?? id,
      workspaceId,
      name: given.name,
      description: given.description ?? null,
      defaultDataset: given.default_dataset ?? null,
      reviewers: given.num_reviewers_per_item ?? 1,
      reservationMinutes: given.enable_reservations ? (given.reservation_minutes ?? USUAL_MINUTES) : null,
      instructions: given.rubric_instructions ?? null,
      rubric: given.rubric_items ?? [],
      metadata: given.metadata ?? {},
      createdAt: now,
      updatedAt: now,
    };
    await audit(c, { action: "annotation_queue.created", targetId: row.id, detail: { name: row.name } });
    const made = await insertQueue(db, row).catch((error: unknown) => {
      throw isTaken(error) ? new Problem(409, "An annotation queue with this id exists.") : error;
    });
    if (!made) throw new Problem(409, `A workspace has at most ${MAX_QUEUES} annotation queues. Delete one first.`);
    // The clients read the rubric from the queue itself, and expect none here.
    return c.json(toWireQueue(row));
  })
  .get(
    "/annotation-queues",
    doc("List annotation queues", v.array(CountedQueue)),
    query(schema.ListQueues),
    async (c) => {
      const { queue_type, ...wanted } = c.req.valid("query");
      if (queue_type === "pairwise") return c.json([]);
      const { workspaceId } = c.get("principal");
      const db = database(c.env.DB);
      const rows = await listQueues(db, workspaceId, wanted);
      const ids = rows.map(({ id }) => id);
      const counts = await countRuns(db, workspaceId, ids);
      return c.json(rows.map((row) => ({ ...toWireQueue(row), total_runs: counts.get(row.id) ?? 0 })));
    },
  )
  .post("/annotation-queues/populate", doc("Add the runs of experiments", Added), body(schema.Populate), async (c) => {
    const { queue_id, session_ids, extend_trace_retention = false } = c.req.valid("json");
    requirePermission(c.get("principal"), "traces.read");
    const queue = await existingQueue(c, queue_id);
    const { workspaceId } = queue;
    const wanted = { id: session_ids, sort_by: "start_time" as const, sort_by_desc: false, limit: 10, offset: 0 };
    const known = (await listProjects(database(c.env.DB), workspaceId, wanted)).filter((row) => row.referenceDatasetId);
    if (session_ids.some((id) => !known.some((row) => row.id === id))) throw new Problem(404, "Experiment not found.");
    let added = 0;
    for (const id of session_ids) {
      const runs = await experimentRuns(c.env, workspaceId, id);
      for (let at = 0; at < runs.length; at += AT_ONCE) {
        const given = runs
          .slice(at, at + AT_ONCE)
          .map((run) => ({ run_id: run.id, session_id: id, start_time: run.startTime }));
        added += (await addItems(c, queue, given, extend_trace_retention)).length;
      }
    }
    await audit(c, { action: "annotation_queue.filled", targetId: queue.id, detail: { session_ids, runs: added } });
    return c.json({ message: "Runs added", count: added });
  })
  .get(
    "/annotation-queues/:queue_id",
    doc("Read an annotation queue", QueueWithRubric),
    param(schema.QueueId),
    async (c) => c.json(await withRubric(c, await existingQueue(c, c.req.valid("param").queue_id))),
  )
  .patch(
    "/annotation-queues/:queue_id",
    doc("Change an annotation queue", QueueWithRubric),
    param(schema.QueueId),
    body(schema.UpdateQueue),
    async (c) => {
      const given = c.req.valid("json");
      const row = await existingQueue(c, c.req.valid("param").queue_id);
      if (given.default_dataset) await existingDataset(c, given.default_dataset);
      await audit(c, { action: "annotation_queue.updated", targetId: row.id, detail: { name: row.name } });
      const changed = await updateQueue(database(c.env.DB), row.workspaceId, row.id, {
        name: given.name,
        description: given.description,
        defaultDataset: given.default_dataset,
        reviewers: given.num_reviewers_per_item,
        reservationMinutes: minutesAfter(row, given),
        instructions: given.rubric_instructions,
        rubric: given.rubric_items,
        metadata: given.metadata,
        updatedAt: Date.now(),
      });
      if (!changed) throw new Problem(404, "Annotation queue not found.");
      return c.json(await withRubric(c, changed));
    },
  )
  .delete(
    "/annotation-queues/:queue_id",
    doc("Delete an annotation queue", ResultMessage),
    param(schema.QueueId),
    async (c) => {
      const row = await existingQueue(c, c.req.valid("param").queue_id);
      await audit(c, { action: "annotation_queue.deleted", targetId: row.id, detail: { name: row.name } });
      await deleteQueue(database(c.env.DB), row.workspaceId, row.id);
      return c.json({ message: "Annotation queue deleted" });
    },
  )
  .get(
    "/annotation-queues/:run_id/queues",
    doc("List the queues that have a run", v.array(Queue)),
    param(schema.RunId),
    async (c) => {
      const rows = await listQueuesOfRun(
        database(c.env.DB),
        c.get("principal").workspaceId,
        c.req.valid("param").run_id,
      );
      return c.json(rows.map(toWireQueue));
    },
  )
  .get(
    "/annotation-queues/:queue_id/size",
    doc("Count the runs that are not completed, or of a status", Size),
    param(schema.QueueId),
    query(schema.Size),
    async (c) => {
      const { status } = c.req.valid("query");
      if (status === undefined) return size(c, c.req.valid("param").queue_id, { section: "all", archived: false });
      return size(c, c.req.valid("param").queue_id, { section: status === "completed" ? "archived" : status });
    },
  )
  .get(
    "/annotation-queues/:queue_id/total_size",
    doc("Count the runs of a queue", Size),
    param(schema.QueueId),
    async (c) => size(c, c.req.valid("param").queue_id, { section: "all" }),
  )
  .get(
    "/annotation-queues/:queue_id/total_archived",
    doc("Count the completed runs of a queue", Size),
    param(schema.QueueId),
    query(schema.Archived),
    async (c) => {
      const { start_time: completedAfter, end_time: completedBefore } = c.req.valid("query");
      return size(c, c.req.valid("param").queue_id, { section: "archived", completedAfter, completedBefore });
    },
  );

/** Runs of an experiment that are added at once. */
const AT_ONCE = 1_000;

async function size(c: Context<App>, id: string, wanted: Omit<ItemQuery, "reviewer">): Promise<Response> {
  const queue = await existingQueue(c, id);
  const runs: ItemQuery = { ...wanted, type: "RUN", reviewer: nameCaller(c) };
  return c.json({ size: await countItems(database(c.env.DB), queue, runs) });
}

/** Undefined leaves the reservations as they are. */
function minutesAfter(
  row: QueueRow,
  given: { enable_reservations?: boolean | undefined; reservation_minutes?: number | undefined },
): number | null | undefined {
  if (given.enable_reservations === false) return null;
  const isOn = given.enable_reservations ?? row.reservationMinutes !== null;
  return isOn ? (given.reservation_minutes ?? row.reservationMinutes ?? USUAL_MINUTES) : undefined;
}

async function withRubric(c: Context<App>, row: QueueRow) {
  const keys = row.rubric.map((item) => String(item["feedback_key"]));
  const wanted = { keys, limit: Math.max(1, keys.length), offset: 0 };
  return toWireRubric(row, keys.length === 0 ? [] : await listConfigs(database(c.env.DB), row.workspaceId, wanted));
}

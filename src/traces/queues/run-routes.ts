/** The runs of an annotation queue: add, list, read by place, review, remove. */
import * as v from "valibot";
import { Count, Message } from "../../http/shapes.ts";
import { type Context, Hono } from "hono";
import { audit } from "../../access/audit/record.ts";
import { nameCaller } from "../../http/context.ts";
import { requirePermission } from "../../access/auth/roles.ts";
import { database } from "../../db/client.ts";
import { openBlobs } from "../../access/encryption/blobs.ts";
import { createDoc } from "../../http/route.ts";
import { serverAddress } from "../../http/context.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { body, param, query } from "../../http/validate.ts";
import { runsAnswer } from "../query/responses.ts";
import { readContext } from "../query/context.ts";
import { runV1 } from "../query/row.ts";
import { Run } from "../query/wire.ts";
import { addItems, existingItem, existingQueue, moveItem, reviewItem } from "./access.ts";
import { idsOfRuns, removeItems } from "../review/queues/item-store.ts";
import { QueueInfo, toWireQueueInfo, QueueItem, toWireItem } from "../review/queues/row.ts";
import { pageOfRuns, type SeenRun } from "../review/queues/items.ts";
import * as schema from "../review/queues/schema.ts";
import type { AddItem } from "../review/queues/schema.ts";

const doc = createDoc("Annotation queues");

const QueuedRun = v.object({ ...Run.entries, ...QueueInfo.entries });
const Removed = v.object({ ...Message.entries, count: Count });

export const annotationRuns = new Hono<App>()
  .post(
    "/annotation-queues/:queue_id/runs",
    doc("Add runs to an annotation queue", v.array(QueueItem)),
    param(schema.QueueId),
    query(schema.Retention),
    body(schema.AddRuns),
    (c) => add(c, c.req.valid("param").queue_id, c.req.valid("json"), c.req.valid("query").extend_trace_retention),
  )
  .post(
    "/annotation-queues/:queue_id/runs/by-key",
    doc("Add runs to an annotation queue, with their projects and times", v.array(QueueItem)),
    param(schema.QueueId),
    query(schema.Retention),
    body(schema.AddRunsByKey),
    (c) => add(c, c.req.valid("param").queue_id, c.req.valid("json"), c.req.valid("query").extend_trace_retention),
  )
  .get(
    "/annotation-queues/:queue_id/runs",
    doc("List the runs of an annotation queue, oldest first", v.array(QueuedRun)),
    param(schema.QueueId),
    query(schema.ListRuns),
    async (c) => {
      const { status, archived, limit, offset } = c.req.valid("query");
      const section = status === "completed" ? "archived" : (status ?? "all");
      const queue = await readable(c, c.req.valid("param").queue_id);
      const wanted = { section, archived, reviewer: nameCaller(c) } as const;
      return answer(c, await pageOfRuns(c.env, queue, wanted, { limit, offset }), (runs) => runs);
    },
  )
  .get(
    "/annotation-queues/:queue_id/run/:index",
    doc("Read a run that waits for the caller's review, by its place", QueuedRun),
    param(schema.PlaceOfQueue),
    query(schema.ReadRun),
    async (c) => {
      const { queue_id, index: offset } = c.req.valid("param");
      const queue = await readable(c, queue_id);
      const wanted = { section: "needs_my_review", reviewer: nameCaller(c) } as const;
      const page = await pageOfRuns(c.env, queue, wanted, { limit: 1, offset });
      if (page.length === 0) throw new Problem(404, "No run that waits for this reviewer has this place.");
      return answer(c, page, ([run]) => run ?? {});
    },
  )
  .post(
    "/annotation-queues/status/:item_id",
    doc("Review a run of an annotation queue", Message),
    param(schema.ItemId),
    body(schema.SetStatus),
    async (c) => {
      await reviewItem(c, c.req.valid("param").item_id, c.req.valid("json"));
      return c.json({ message: "Status saved" });
    },
  )
  .post(
    "/annotation-queues/:queue_id/runs/delete",
    doc("Remove runs from an annotation queue", Removed),
    param(schema.QueueId),
    body(schema.RemoveRuns),
    async (c) => {
      const { run_ids, delete_all = false, exclude_run_ids } = c.req.valid("json");
      if (delete_all === (run_ids !== undefined)) {
        throw new Problem(422, "Invalid body: give run_ids, or delete_all true with the runs that stay.");
      }
      if (exclude_run_ids && !delete_all) throw new Problem(422, "Invalid body.exclude_run_ids: needs delete_all.");
      const queue = await existingQueue(c, c.req.valid("param").queue_id);
      const db = database(c.env.DB);
      const ids = await idsOfRuns(db, queue, { runIds: run_ids, except: exclude_run_ids });
      const detail = { runs: ids.length, delete_all };
      await audit(c, { action: "annotation_queue.item_removed", targetId: queue.id, detail });
      await removeItems(db, queue, ids);
      return c.json({ message: "Runs removed", count: ids.length });
    },
  )
  .patch(
    "/annotation-queues/:queue_id/runs/:item_id",
    doc("Move a run of an annotation queue in time", QueueItem),
    param(schema.ItemOfQueue),
    body(schema.UpdateItem),
    async (c) => c.json(toWireItem(await moveItem(c, c.req.valid("param"), c.req.valid("json")))),
  )
  .delete(
    "/annotation-queues/:queue_id/runs/:item_id",
    doc("Remove a run from an annotation queue", Message),
    param(schema.ItemOfQueue),
    async (c) => {
      const { queue_id, item_id } = c.req.valid("param");
      const queue = await existingQueue(c, queue_id);
      const item = await existingItem(c, queue, item_id);
      const detail = { item_id: item.id, run_id: item.runId };
      await audit(c, { action: "annotation_queue.item_removed", targetId: queue.id, detail });
      await removeItems(database(c.env.DB), queue, [item.id]);
      return c.json({ message: "Run removed" });
    },
  );

/** A queue whose runs may be read. */
async function readable(c: Context<App>, id: string) {
  requirePermission(c.get("principal"), "traces.read");
  return existingQueue(c, id);
}

async function add(c: Context<App>, id: string, given: AddItem[], extend = false): Promise<Response> {
  requirePermission(c.get("principal"), "traces.read");
  const queue = await existingQueue(c, id);
  if (given.length === 0) return c.json([]);
  const rows = await addItems(
    c,
    queue,
    given.map((one) => ({ ...one, item_type: "RUN" as const })),
    extend,
  );
  await audit(c, { action: "annotation_queue.filled", targetId: queue.id, detail: { runs: rows.length } });
  return c.json(rows.map(toWireItem));
}

async function answer(c: Context<App>, page: SeenRun[], whole: (runs: object[]) => object): Promise<Response> {
  const runs = page.map(({ run }) => run);
  const context = await readContext(c.env, serverAddress(c), c.get("principal").workspaceId, runs);
  const shown = page.map(({ item, run }) => ({ ...runV1(run, undefined, context), ...toWireQueueInfo(item) }));
  return runsAnswer(openBlobs(c.env), whole(shown));
}

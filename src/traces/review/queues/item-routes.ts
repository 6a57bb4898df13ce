/** The items of an annotation queue, which are runs and threads: the second generation, below `/v1/platform`. */
import * as v from "valibot";
import { Count, Id, ResultMessage, Time } from "../../../http/shapes.ts";
import { Hono, type Context } from "hono";
import { audit } from "../../../access/audit/record.ts";
import { nameCaller, type App, serverAddress } from "../../../http/context.ts";
import { requirePermission } from "../../../access/auth/roles.ts";
import { database } from "../../../db/client.ts";
import { createDoc } from "../../../http/route.ts";
import { Problem } from "../../../lib/problem.ts";
import { body, param, query } from "../../../http/validate.ts";
import { readCursor, writeCursor, runsResponse } from "../../query/responses.ts";
import { addItems, existingItem, existingQueue, moveItem, reviewItem, pageOfRuns, type RunOfItem } from "./items.ts";
import {
  countBefore,
  countItems,
  findItemById,
  type ItemQuery,
  listItems,
  removeItems,
  type ReviewedItem,
  idsOfRuns,
} from "./item-store.ts";
import { QueueItem, ReviewedQueueItem, toWireItem, toWireReviewedItem, QueueInfo, toWireQueueInfo } from "./row.ts";
import * as schema from "./schema.ts";
import type { AddItem } from "./schema.ts";
import { openSealedBlobs } from "../../../access/encryption/blobs.ts";
import { readContext, runV1, Run } from "../../query/row.ts";

const doc = createDoc("Annotation queues");

const SECTIONS = ["needs_my_review", "needs_others_review", "archived"] as const;

const Placement = v.object({
  section: v.picklist(SECTIONS),
  position: Count,
  cursor: v.nullable(v.string()),
  item_type: v.picklist(["THREAD", "RUN"]),
});
const Review = v.object({
  queue_item_id: Id,
  status: v.nullable(v.string()),
  is_archived: v.boolean(),
  override_added_at: v.nullable(Time),
});

export const annotationItems = new Hono<App>()
  .post(
    "/annotation-queues/:queue_id/items",
    doc("Add runs and threads to an annotation queue", { 201: v.object({ items: v.array(QueueItem) }) }),
    param(schema.QueueId),
    query(schema.Retention),
    body(schema.AddItems),
    async (c) => {
      requirePermission(c.get("principal"), "traces.read");
      const queue = await existingQueue(c, c.req.valid("param").queue_id);
      const { extend_trace_retention = false } = c.req.valid("query");
      const rows = await addItems(c, queue, c.req.valid("json").items, extend_trace_retention);
      await audit(c, { action: "annotation_queue.filled", targetId: queue.id, detail: { items: rows.length } });
      return c.json({ items: rows.map(toWireItem) }, 201);
    },
  )
  .get(
    "/annotation-queues/:queue_id/items",
    doc(
      "List a section of an annotation queue, oldest first",
      v.object({ items: v.array(ReviewedQueueItem), next_cursor: v.nullable(v.string()) }),
    ),
    param(schema.QueueId),
    query(schema.ListItems),
    async (c) => {
      const { status, item_type, direction, cursor, page_size, min_start_time, max_start_time } = c.req.valid("query");
      const queue = await existingQueue(c, c.req.valid("param").queue_id);
      const cursorAt = readCursor(cursor);
      const position = cursorAt ? { at: cursorAt.start_time, id: cursorAt.id } : undefined;
      const isBack = direction === "backward";
      if (isBack && !position) throw new Problem(422, "Invalid query.cursor: is required to go backward.");
      const wanted = {
        section: status,
        reviewer: nameCaller(c),
        type: item_type,
        startedFrom: min_start_time,
        startedUntil: max_start_time,
      };
      const page = { limit: page_size + 1, ...(isBack ? { upTo: position } : { after: position }) };
      const rows = await listItems(database(c.env.DB), queue, wanted, page);
      const shown = rows.slice(0, page_size);
      // A cursor is the item before the ones that it leads to, in either direction.
      const before = rows.length > page_size ? (isBack ? rows.at(-1) : shown.at(-1)) : undefined;
      const next_cursor = before ? writeCursor({ start_time: before.effectiveAddedAt, id: before.id }) : null;
      const items = (isBack ? shown.toReversed() : shown).map(toWireReviewedItem);
      return c.json({ items, next_cursor });
    },
  )
  .get(
    "/annotation-queues/:queue_id/items/count",
    doc("Count the items of a section", v.object({ count: Count })),
    param(schema.QueueId),
    query(schema.CountItems),
    async (c) => {
      const given = c.req.valid("query");
      const queue = await existingQueue(c, c.req.valid("param").queue_id);
      const isArchived = given.status === "archived";
      const wanted: ItemQuery = {
        section: given.status,
        reviewer: nameCaller(c),
        startedFrom: given.min_start_time,
        startedUntil: given.max_start_time,
        ...(isArchived && { completedAfter: given.start_time, completedBefore: given.end_time }),
      };
      return c.json({ count: await countItems(database(c.env.DB), queue, wanted) });
    },
  )
  .post(
    "/annotation-queues/:queue_id/items/delete",
    doc("Remove items from an annotation queue", ResultMessage),
    param(schema.QueueId),
    body(schema.RemoveItems),
    async (c) => {
      const { item_ids } = c.req.valid("json");
      const queue = await existingQueue(c, c.req.valid("param").queue_id);
      const detail = { items: item_ids.length, item_ids: item_ids.slice(0, 100) };
      await audit(c, { action: "annotation_queue.item_removed", targetId: queue.id, detail });
      await removeItems(database(c.env.DB), queue, item_ids);
      return c.json({ message: "Items removed" });
    },
  )
  .get(
    "/annotation-queues/:queue_id/items/:item_id/placement",
    doc("The section of an item, and its place there", Placement),
    param(schema.ItemOfQueue),
    async (c) => {
      const { queue_id, item_id } = c.req.valid("param");
      const queue = await existingQueue(c, queue_id);
      const { id, runId } = await existingItem(c, queue, item_id);
      const db = database(c.env.DB);
      for (const section of SECTIONS) {
        const wanted = { section, reviewer: nameCaller(c), item: id };
        const [seen]: ReviewedItem[] = await listItems(db, queue, wanted, { limit: 1, offset: 0 });
        if (!seen) continue;
        const position = await countBefore(db, queue, { section, reviewer: wanted.reviewer }, seen);
        const cursor = writeCursor({ start_time: position, id: "" });
        return c.json({ section, position, cursor, item_type: runId === null ? "THREAD" : "RUN" });
      }
      throw new Problem(404, "The queue has no such item.");
    },
  )
  .patch(
    "/annotation-queues/:queue_id/items/:item_id",
    doc("Move an item of an annotation queue in time", QueueItem),
    param(schema.ItemOfQueue),
    body(schema.UpdateItem),
    async (c) => c.json(toWireItem(await moveItem(c, c.req.valid("param"), c.req.valid("json")))),
  )
  .post(
    "/annotation-queues/items/:item_id/status",
    doc("Review an item of an annotation queue", Review),
    param(schema.ItemId),
    body(schema.SetStatus),
    async (c) => {
      const { status = null, override_added_at: overrideAddedAt } = c.req.valid("json");
      const item = await reviewItem(c, c.req.valid("param").item_id, c.req.valid("json"));
      const after = await findItemById(database(c.env.DB), item.workspaceId, item.id);
      return c.json({
        queue_item_id: item.id,
        status,
        is_archived: after?.completedAt !== null,
        override_added_at: overrideAddedAt === undefined ? null : new Date(overrideAddedAt).toISOString(),
      });
    },
  );

// The runs of an annotation queue: add, list, read by place, review, remove.

const queueRunDoc = createDoc("Annotation queues");

const QueuedRun = v.object({ ...Run.entries, ...QueueInfo.entries });
const Removed = v.object({ ...ResultMessage.entries, count: Count });

export const annotationRuns = new Hono<App>()
  .post(
    "/annotation-queues/:queue_id/runs",
    queueRunDoc("Add runs to an annotation queue", v.array(QueueItem)),
    param(schema.QueueId),
    query(schema.Retention),
    body(schema.AddRuns),
    (c) => add(c, c.req.valid("param").queue_id, c.req.valid("json"), c.req.valid("query").extend_trace_retention),
  )
  .post(
    "/annotation-queues/:queue_id/runs/by-key",
    queueRunDoc("Add runs to an annotation queue, with their projects and times", v.array(QueueItem)),
    param(schema.QueueId),
    query(schema.Retention),
    body(schema.AddRunsByKey),
    (c) => add(c, c.req.valid("param").queue_id, c.req.valid("json"), c.req.valid("query").extend_trace_retention),
  )
  .get(
    "/annotation-queues/:queue_id/runs",
    queueRunDoc("List the runs of an annotation queue, oldest first", v.array(QueuedRun)),
    param(schema.QueueId),
    query(schema.ListRuns),
    async (c) => {
      const { status, archived, limit, offset } = c.req.valid("query");
      const section = status === "completed" ? "archived" : (status ?? "all");
      const queue = await readable(c, c.req.valid("param").queue_id);
      const wanted = { section, archived, reviewer: nameCaller(c) } as const;
      return queuedRunsResponse(c, await pageOfRuns(c.env, queue, wanted, { limit, offset }), (runs) => runs);
    },
  )
  .get(
    "/annotation-queues/:queue_id/run/:index",
    queueRunDoc("Read a run that waits for the caller's review, by its place", QueuedRun),
    param(schema.IndexOfQueue),
    query(schema.ReadRun),
    async (c) => {
      const { queue_id, index: offset } = c.req.valid("param");
      const queue = await readable(c, queue_id);
      const wanted = { section: "needs_my_review", reviewer: nameCaller(c) } as const;
      const page = await pageOfRuns(c.env, queue, wanted, { limit: 1, offset });
      if (page.length === 0) throw new Problem(404, "No run that waits for this reviewer has this place.");
      return queuedRunsResponse(c, page, ([run]) => run ?? {});
    },
  )
  .post(
    "/annotation-queues/status/:item_id",
    queueRunDoc("Review a run of an annotation queue", ResultMessage),
    param(schema.ItemId),
    body(schema.SetStatus),
    async (c) => {
      await reviewItem(c, c.req.valid("param").item_id, c.req.valid("json"));
      return c.json({ message: "Status saved" });
    },
  )
  .post(
    "/annotation-queues/:queue_id/runs/delete",
    queueRunDoc("Remove runs from an annotation queue", Removed),
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
    queueRunDoc("Move a run of an annotation queue in time", QueueItem),
    param(schema.ItemOfQueue),
    body(schema.UpdateItem),
    async (c) => c.json(toWireItem(await moveItem(c, c.req.valid("param"), c.req.valid("json")))),
  )
  .delete(
    "/annotation-queues/:queue_id/runs/:item_id",
    queueRunDoc("Remove a run from an annotation queue", ResultMessage),
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

async function queuedRunsResponse(
  c: Context<App>,
  page: RunOfItem[],
  whole: (runs: object[]) => object,
): Promise<Response> {
  const runs = page.map(({ run }) => run);
  const context = await readContext(c.env, serverAddress(c), c.get("principal").workspaceId, runs);
  const shown = page.map(({ item, run }) => ({ ...runV1(run, undefined, context), ...toWireQueueInfo(item) }));
  return runsResponse(openSealedBlobs(c.env), whole(shown));
}

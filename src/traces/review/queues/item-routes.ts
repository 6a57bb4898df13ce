/** The items of an annotation queue, which are runs and threads: the second generation, below `/v1/platform`. */
import * as v from "valibot";
import { Count, Id, Message, Time } from "../../../http/shapes.ts";
import { Hono } from "hono";
import { audit } from "../../../access/audit/record.ts";
import { nameCaller } from "../../../http/context.ts";
import { requirePermission } from "../../../access/auth/roles.ts";
import { database } from "../../../db/client.ts";
import { createDoc } from "../../../http/route.ts";
import { Problem } from "../../../lib/problem.ts";
import type { App } from "../../../http/context.ts";
import { body, param, query } from "../../../http/validate.ts";
import { readCursor, writeCursor } from "../../query/cursor.ts";
import { addItems, existingItem, existingQueue, moveItem, reviewItem } from "../../queues/access.ts";
import {
  countBefore,
  countItems,
  findItemById,
  type ItemsWanted,
  listItems,
  removeItems,
  type SeenItem,
} from "./item-store.ts";
import { QueueItem, SeenQueueItem, toWireItem, toWireSeen } from "./row.ts";
import * as schema from "./schema.ts";

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
      v.object({ items: v.array(SeenQueueItem), next_cursor: v.nullable(v.string()) }),
    ),
    param(schema.QueueId),
    query(schema.ListItems),
    async (c) => {
      const { status, item_type, direction, cursor, page_size, min_start_time, max_start_time } = c.req.valid("query");
      const queue = await existingQueue(c, c.req.valid("param").queue_id);
      const isBack = direction === "backward";
      const at = readCursor(cursor)?.start_time;
      if (isBack && at === undefined) throw new Problem(422, "Invalid query.cursor: is required to go backward.");
      const end = at ?? 0;
      const offset = isBack ? Math.max(0, end - page_size) : end;
      const limit = isBack ? end - offset : page_size;
      const wanted = {
        section: status,
        reviewer: nameCaller(c),
        type: item_type,
        startedFrom: min_start_time,
        startedUntil: max_start_time,
      };
      const rows = await listItems(database(c.env.DB), queue, wanted, { limit: limit + 1, offset });
      const items = rows.slice(0, limit).map(toWireSeen);
      const place = (start_time: number) => writeCursor({ start_time, id: "" });
      const further = isBack ? offset > 0 : rows.length > limit;
      return c.json({ items, next_cursor: further ? place(isBack ? offset : offset + limit) : null });
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
      const wanted: ItemsWanted = {
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
    doc("Remove items from an annotation queue", Message),
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
        const [seen]: SeenItem[] = await listItems(db, queue, wanted, { limit: 1, offset: 0 });
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

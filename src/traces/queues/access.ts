/** What runs and items of queues have in common: whose they are, and how they are added, moved and reviewed. */
import type { Context } from "hono";
import { nameCaller } from "../../http/context.ts";
import { requirePermission } from "../../access/auth/roles.ts";
import { database } from "../../db/client.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { idempotentId } from "../../http/idempotent-id.ts";
import { extendTraces } from "../extend.ts";
import {
  findItem,
  findItemById,
  insertItems,
  type ItemRow,
  MOST_ITEMS,
  updateItem,
  writeReview,
} from "../review/queues/item-store.ts";
import { itemsFor } from "../review/queues/items.ts";
import type { AddItem, GivenReview, ItemChanges } from "../review/queues/schema.ts";
import { findQueue, type QueueRow } from "../review/queues/store.ts";

/** The caller's queue. @throws Problem 404 */
export async function existingQueue(c: Context<App>, id: string): Promise<QueueRow> {
  const row = await findQueue(database(c.env.DB), c.get("principal").workspaceId, id);
  if (!row) throw new Problem(404, "Annotation queue not found.");
  return row;
}

/** An item of the queue, by its id or that of its run. @throws Problem 404 */
export async function existingItem(c: Context<App>, queue: QueueRow, id: string): Promise<ItemRow> {
  const row = await findItem(database(c.env.DB), queue, id);
  if (!row) throw new Problem(404, "The queue has no such item.");
  return row;
}

/** An item with its queue. @throws Problem 404 */
async function itemInQueue(c: Context<App>, id: string): Promise<{ item: ItemRow; queue: QueueRow }> {
  const item = await findItemById(database(c.env.DB), c.get("principal").workspaceId, id);
  if (!item) throw new Problem(404, "No queue has such an item.");
  return { item, queue: await existingQueue(c, item.queueId) };
}

/**
 * Adds what a request gives, and what is there already is left as it is. `extend`: the traces of its runs are kept for longer.
 * @throws Problem 404, 409 when the queue is full
 */
export async function addItems(
  c: Context<App>,
  queue: QueueRow,
  given: AddItem[],
  extend: boolean,
): Promise<ItemRow[]> {
  if (extend) requirePermission(c.get("principal"), "traces.write");
  const { rows, runs } = await itemsFor(c, queue, given, (place) => idempotentId(c, String(place)));
  const added = await insertItems(database(c.env.DB), queue, rows);
  if (!added) throw new Problem(409, `A queue has at most ${MOST_ITEMS} items. Remove some first.`);
  if (extend) await extendTraces(c.env, queue.workspaceId, runs);
  return added;
}

/** Moves an item in time. Returns the item after it. @throws Problem 404 */
export async function moveItem(
  c: Context<App>,
  { queue_id, item_id }: { queue_id: string; item_id: string },
  { added_at, last_reviewed_time }: ItemChanges,
): Promise<ItemRow> {
  const item = await existingItem(c, await existingQueue(c, queue_id), item_id);
  const changes = {
    ...(added_at !== undefined && { addedAt: added_at }),
    ...(last_reviewed_time !== undefined && { lastReviewedAt: last_reviewed_time }),
  };
  await updateItem(database(c.env.DB), item, changes);
  return { ...item, ...changes };
}

/** Writes the caller's review of an item. Returns the item before it. @throws Problem 404, 409 when others have reserved it */
export async function reviewItem(
  c: Context<App>,
  id: string,
  { status, override_added_at: overrideAddedAt }: GivenReview,
): Promise<ItemRow> {
  const { item, queue } = await itemInQueue(c, id);
  const review = { reviewer: nameCaller(c), status: status ?? null, overrideAddedAt };
  if (await writeReview(database(c.env.DB), item, queue, review)) return item;
  throw new Problem(409, "Other reviewers have reserved this item. Take the next one.");
}

/** Whose queue and item a request is about, and who reviews. */
import type { Context } from "hono";
import { database } from "../../db/client.ts";
import { Problem } from "../../http/problem.ts";
import type { App } from "../../http/types.ts";
import { idempotentId } from "../../http/idempotent-id.ts";
import { findItem, findItemById, insertItems, type ItemRow, MOST_ITEMS } from "./items-store.ts";
import { itemsFor } from "./runs.ts";
import type { AddItem } from "./schema.ts";
import { findQueue, type QueueRow } from "./store.ts";

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
export async function itemInQueue(c: Context<App>, id: string): Promise<{ item: ItemRow; queue: QueueRow }> {
  const item = await findItemById(database(c.env.DB), c.get("principal").workspaceId, id);
  if (!item) throw new Problem(404, "No queue has such an item.");
  return { item, queue: await existingQueue(c, item.queueId) };
}

/** The name of the caller among reviewers: the user of the deployment's own `Auth`, else the credential. */
export function reviewerOf(c: Context<App>): string {
  const { user, credentialId } = c.get("principal");
  return user?.identity ?? credentialId;
}

/** Adds what a request gives, and what is there already is left as it is. @throws Problem 404, 409 when the queue is full */
export async function addItems(c: Context<App>, queue: QueueRow, given: AddItem[]): Promise<ItemRow[]> {
  const rows = await itemsFor(c, queue, given, (place) => idempotentId(c, String(place)));
  const added = await insertItems(database(c.env.DB), queue, rows);
  if (!added) throw new Problem(409, `A queue has at most ${MOST_ITEMS} items. Remove some first.`);
  return added;
}

/**
 * Events that receivers are told of: what is told is stored with the event, and what became of each receiver beside it, by its id. So
 * neither changes when their owner does.
 */
import { and, desc, eq, isNull, lt, type SQL, sql } from "drizzle-orm";
import { type Allowance, type Database, database } from "../db/client.ts";
import { inList } from "../db/conditions.ts";
import { deleteAll, deleteOverdue } from "../db/writes.ts";
import { DELIVERY_RETRIES, inTurns, retryTime } from "../lib/due-work.ts";
import { logError } from "../lib/log.ts";
import { CONNECTIONS, inParallel } from "../lib/parallel.ts";
import { deriveUuid } from "../lib/uuid.ts";
import { type Delivery, REQUEST_TIMEOUT_MS, sendDelivery } from "./send.ts";
import { deliveryEvents, type ReceiverState } from "./table.ts";

export type DeliveryEvent = typeof deliveryEvents.$inferSelect;

/** The call that tells a receiver; its id is that of the event and the receiver. */
export type ReceiverCall = Omit<Delivery, "delivery">;

/** The call of a receiver that has this id, or why it is told no more. */
export type FindCall = (receiver: string) => ReceiverCall | { cancelled: string };

/** An event of which nobody has been told. */
export function newEvent(
  { id, workspaceId, owner, event, at }: Pick<DeliveryEvent, "id" | "workspaceId" | "owner" | "event" | "at">,
  receivers: string[],
): DeliveryEvent {
  const pending = receivers.map((one): ReceiverState => ({ id: one, state: "pending", error: null, at: null }));
  return { id, workspaceId, owner, event, at, receivers: pending, attempts: 0, nextAt: pending.length > 0 ? at : null };
}

/** Tells one receiver. @throws when it does not answer with a 2xx status */
export async function tellReceiver(
  env: Env,
  { id, workspaceId }: Pick<DeliveryEvent, "id" | "workspaceId">,
  receiver: string,
  call: ReceiverCall,
): Promise<void> {
  await sendDelivery(env, workspaceId, { ...call, delivery: deriveUuid(["delivery", id, receiver].join("\n")) });
}

/** A receiver that is not noted for this time is called by another sweep: the one before it was killed. */
const LEASE_MS = 2 * REQUEST_TIMEOUT_MS;
const MAX_ERROR = 500;

/** Tells the receivers of at most `most` events that are due, of several at once. `now`: milliseconds. */
export async function tellReceivers(
  { env, isSpent }: Allowance,
  now: number,
  readCalls: (env: Env, event: DeliveryEvent) => Promise<FindCall>,
  { most = 200, atOnce = CONNECTIONS } = {},
): Promise<void> {
  const began = Date.now();
  const lease = () => now + Date.now() - began + LEASE_MS;
  await inParallel(await dueEvents(database(env.DB), now, most), atOnce, async (event) => {
    if (isSpent()) return;
    try {
      await tell(env, event, readCalls, { now, lease });
    } catch (error) {
      logError(error, { event: event.id });
    }
  });
}

async function tell(
  env: Env,
  event: DeliveryEvent,
  readCalls: (env: Env, event: DeliveryEvent) => Promise<FindCall>,
  { now, lease }: { now: number; lease: () => number },
): Promise<void> {
  const db = database(env.DB);
  const { attempts } = event;
  // Each attempt is counted when it begins: one that kills its sweep is repeated a limited number of times.
  if (attempts > DELIVERY_RETRIES.length) {
    const receivers = endPending(event.receivers, now, "The last attempt was cut off.");
    return void (await changeEvent(db, event, { receivers, nextAt: null }));
  }
  let held = await changeEvent(db, event, { attempts: attempts + 1, nextAt: lease() });
  const find = await readCalls(env, event);
  for (const { id } of event.receivers.filter(({ state }) => state === "pending")) {
    if (!held) return;
    const became = await attemptOne(env, event, id, find);
    const receivers = held.receivers.map((one) => (one.id === id ? { id, ...became, at: now } : one));
    held = await changeEvent(db, held, { receivers, nextAt: lease() });
  }
  if (!held) return;
  const isPending = held.receivers.some(({ state }) => state === "pending");
  const nextAt = isPending ? (retryTime(DELIVERY_RETRIES, attempts, now) ?? null) : null;
  const receivers = nextAt === null ? endPending(held.receivers, now, "") : held.receivers;
  await changeEvent(db, held, { receivers, nextAt });
}

/** Those that are told no more have failed. `error`: of those that have none. */
const endPending = (receivers: ReceiverState[], at: number, error: string): ReceiverState[] =>
  receivers.map((one) =>
    one.state === "pending" ? { ...one, state: "failed", error: one.error ?? error, at: one.at ?? at } : one,
  );

async function attemptOne(
  env: Env,
  event: DeliveryEvent,
  receiver: string,
  find: FindCall,
): Promise<Pick<ReceiverState, "state" | "error">> {
  try {
    const call = find(receiver);
    if ("cancelled" in call) return { state: "cancelled", error: call.cancelled };
    await tellReceiver(env, event, receiver, call);
    return { state: "delivered", error: null };
  } catch (error) {
    logError(error, { event: event.id, receiver });
    return { state: "pending", error: (error instanceof Error ? error.message : String(error)).slice(0, MAX_ERROR) };
  }
}

// D1.

/** Events with receivers that are to be told now, in turns. */
async function dueEvents(db: Database, now: number, most: number): Promise<DeliveryEvent[]> {
  const due = sql`SELECT id, workspace_id AS owner, next_at AS due, 0 AS served FROM ${deliveryEvents} WHERE next_at <= ${now}`;
  const turns = await db.all<{ id: string }>(inTurns(due, most));
  const order = turns.map(({ id }) => id);
  const rows = await db.select().from(deliveryEvents).where(inList(deliveryEvents.id, order)).all();
  return rows.sort((one, other) => order.indexOf(one.id) - order.indexOf(other.id));
}

/**
 * The event after the change. Undefined when it is no longer due at the time that was read: another sweep has it. A sweep takes an
 * event by setting this time forward.
 */
async function changeEvent(
  db: Database,
  { id, nextAt }: Pick<DeliveryEvent, "id" | "nextAt">,
  changes: Partial<Pick<DeliveryEvent, "receivers" | "attempts" | "nextAt">>,
): Promise<DeliveryEvent | undefined> {
  const asRead = nextAt === null ? isNull(deliveryEvents.nextAt) : eq(deliveryEvents.nextAt, nextAt);
  return db
    .update(deliveryEvents)
    .set(changes)
    .where(and(eq(deliveryEvents.id, id), asRead))
    .returning()
    .get();
}

const isOf = (owner: string, id: string) => and(eq(deliveryEvents.owner, owner), eq(deliveryEvents.id, id));

/** Newest first. */
export async function listEvents(
  db: Database,
  owner: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<DeliveryEvent[]> {
  return db
    .select()
    .from(deliveryEvents)
    .where(eq(deliveryEvents.owner, owner))
    .orderBy(desc(deliveryEvents.at), desc(deliveryEvents.id))
    .limit(limit)
    .offset(offset)
    .all();
}

/**
 * Tells again, at the next sweep, the receivers that were not reached; all of them when each was. An event that is under way stays as
 * it is. Undefined when its owner has none of this id.
 */
export async function resendEvent(
  db: Database,
  owner: string,
  id: string,
  now: number,
): Promise<DeliveryEvent | undefined> {
  const event = await db.select().from(deliveryEvents).where(isOf(owner, id)).get();
  if (!event || event.nextAt !== null || event.receivers.length === 0) return event;
  const missed = event.receivers.filter(({ state }) => state !== "delivered");
  const again = new Set((missed.length > 0 ? missed : event.receivers).map((one) => one.id));
  const receivers = event.receivers.map((one): ReceiverState =>
    again.has(one.id) ? { ...one, state: "pending" } : one,
  );
  return (await changeEvent(db, event, { receivers, attempts: 0, nextAt: now })) ?? event;
}

/** Deletes the events of owners. */
export async function deleteEvents(db: Database, owners: string[] | SQL): Promise<void> {
  const { owner } = deliveryEvents;
  await deleteAll(db, deliveryEvents, Array.isArray(owners) ? inList(owner, owners) : sql`${owner} IN ${owners}`);
}

export async function deleteOldEvents(db: Database, before: number): Promise<void> {
  await deleteOverdue(db, deliveryEvents, lt(deliveryEvents.at, before));
}

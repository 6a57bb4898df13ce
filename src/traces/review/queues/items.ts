/** The runs of items, and items for runs. */
import type { Context } from "hono";
import { database } from "../../../db/client.ts";
import { CONNECTIONS, inParallel } from "../../../lib/parallel.ts";
import { Problem } from "../../../lib/problem.ts";
import { type App, nameCaller, idempotentId } from "../../../http/context.ts";
import { eachRun } from "../../query/find.ts";
import { listProjects } from "../../projects/store.ts";
import { dayBounds, toDay } from "../../time.ts";
import type { LargeField, QueriedRun } from "../../types.ts";
import {
  itemKey,
  type ItemRow,
  type ItemQuery,
  listItems,
  removeItems,
  type ReviewedItem,
  findItem,
  findItemById,
  insertItems,
  MAX_ITEMS,
  updateItem,
  writeReview,
} from "./item-store.ts";
import type { AddItem, ReviewInput, ItemChanges } from "./schema.ts";
import { type QueueRow, findQueue } from "./store.ts";
import { requirePermission } from "../../../access/auth/roles.ts";
import { extendTraces } from "../../projects/retention.ts";

const FIELDS: LargeField[] = ["inputs", "outputs", "error", "extra", "events", "serialized"];
/** The most bytes of the payloads of a page. Payloads in R2 do not count. */
const PAGE_BYTES = 12 * 1024 * 1024;
/** How often a page is read again because runs on it are gone. */
const TRIES = 5;

export interface RunOfItem {
  item: ReviewedItem;
  run: QueriedRun;
}

/** A page of runs. Items whose run was deleted leave the queue. @throws Problem 413 */
export async function pageOfRuns(
  env: Env,
  queue: QueueRow,
  wanted: ItemQuery,
  page: { limit: number; offset: number },
): Promise<RunOfItem[]> {
  const db = database(env.DB);
  for (let tries = 1; ; tries++) {
    const items = await listItems(db, queue, { ...wanted, type: "RUN" }, page);
    const runs = await runsOfItems(env, queue.workspaceId, items);
    const gone = items.filter(({ runId }) => !runs.has(runId ?? ""));
    if (gone.length > 0)
      await removeItems(
        db,
        queue,
        gone.map(({ id }) => id),
      );
    if (gone.length > 0 && tries < TRIES) continue;
    return items.flatMap((item) => {
      const run = runs.get(item.runId ?? "");
      return run ? [{ item, run }] : [];
    });
  }
}

async function runsOfItems(env: Env, workspaceId: string, items: ItemRow[]): Promise<Map<string, QueriedRun>> {
  const runs = new Map<string, QueriedRun>();
  const dayKey = ({ projectId, startTime }: ItemRow) => `${projectId} ${toDay(startTime ?? 0)}`;
  let bytes = 0;
  for (const [key, group] of Map.groupBy(items, dayKey)) {
    const [projectId = "", day = ""] = key.split(" ");
    const { start: startTime, end: endTime } = dayBounds(day);
    const selection = { ids: group.flatMap(({ runId }) => runId ?? []), startTime, endTime };
    const find = { projectIds: [projectId], selection, order: "asc" as const, limit: group.length, payloads: FIELDS };
    for await (const run of eachRun(env, workspaceId, find)) {
      runs.set(run.id, run);
      for (const name of FIELDS) bytes += run[name]?.length ?? 0;
      if (bytes > PAGE_BYTES)
        throw new Problem(413, `The runs are larger than ${PAGE_BYTES} bytes. Use a smaller limit.`);
    }
  }
  return runs;
}

/** Rows for what a request adds, and the runs among it. `newId`: from the place in the list. @throws Problem 404 for a run or project that is not there */
export async function itemsFor(
  c: Context<App>,
  queue: QueueRow,
  given: AddItem[],
  newId: (place: number) => string,
): Promise<{ rows: ItemRow[]; runs: QueriedRun[] }> {
  const { workspaceId } = queue;
  const now = Date.now();
  const runs = await findGivenRuns(c.env, workspaceId, given);
  await requireProjects(c, given);
  const rows = given.map((one, place): ItemRow => {
    const common = {
      id: newId(place),
      workspaceId,
      queueId: queue.id,
      // The order of the request is the order of the queue.
      addedAt: now + place,
      lastReviewedAt: null,
      completedAt: null,
      sourceProposedExampleId: one.source_proposed_example_id ?? null,
    };
    const isThread = (one.item_type ?? (one.run_id === undefined ? "THREAD" : "RUN")) === "THREAD";
    if (!isThread) {
      if (one.run_id === undefined) throw new Problem(422, `Invalid body.items.${place}.run_id: is required.`);
      const run = runs.get(one.run_id);
      if (!run) throw new Problem(404, `Run ${one.run_id} not found.`);
      const { id: runId, trace_id: traceId, session_id: projectId, start_time: startTime } = run;
      return { ...common, projectId, runId, traceId, threadId: null, startTime };
    }
    const projectId = one.project_id ?? one.session_id;
    if (projectId === undefined || one.thread_id === undefined) {
      throw new Problem(422, `Invalid body.items.${place}: a thread needs thread_id and project_id, a run run_id.`);
    }
    return { ...common, projectId, runId: null, traceId: null, threadId: one.thread_id, startTime: null };
  });
  const once = [...Map.groupBy(rows, itemKey).values()].flatMap(([first]) => first ?? []);
  return { rows: once, runs: [...runs.values()] };
}

/** The runs by id, found by their project and time where these are given. */
async function findGivenRuns(env: Env, workspaceId: string, given: AddItem[]): Promise<Map<string, QueriedRun>> {
  const found = new Map<string, QueriedRun>();
  const wanted = given.filter(({ run_id, item_type }) => run_id !== undefined && item_type !== "THREAD");
  const findPlace = (one: AddItem) => {
    const project = one.session_id ?? one.project_id;
    return project === undefined || one.start_time === undefined ? "" : `${project} ${toDay(one.start_time)}`;
  };
  await inParallel([...Map.groupBy(wanted, findPlace)], CONNECTIONS, async ([place, group]) => {
    const [projectId = "", day = ""] = place.split(" ");
    const ids = group.flatMap(({ run_id }) => run_id ?? []);
    const window = day === "" ? {} : { startTime: dayBounds(day).start, endTime: dayBounds(day).end };
    const projectIds = projectId === "" ? [] : [projectId];
    const find = { projectIds, selection: { ids, ...window }, order: "asc" as const, limit: ids.length, payloads: [] };
    for await (const run of eachRun(env, workspaceId, find)) found.set(run.id, run);
  });
  return found;
}

async function requireProjects(c: Context<App>, given: AddItem[]): Promise<void> {
  const ids = [...new Set(given.flatMap((one) => one.project_id ?? one.session_id ?? []))];
  if (ids.length === 0) return;
  const wanted = { id: ids, sort_by: "start_time" as const, sort_by_desc: false, limit: ids.length, offset: 0 };
  const known = new Set(
    (await listProjects(database(c.env.DB), c.get("principal").workspaceId, wanted)).map(({ id }) => id),
  );
  const missing = ids.find((id) => !known.has(id));
  if (missing !== undefined) throw new Problem(404, `Project ${missing} not found.`);
}

// What runs and items of queues have in common: whose they are, and how they are added, moved and reviewed.

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
  if (!added) throw new Problem(409, `A queue has at most ${MAX_ITEMS} items. Remove some first.`);
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
  { status, override_added_at: overrideAddedAt }: ReviewInput,
): Promise<ItemRow> {
  const { item, queue } = await itemInQueue(c, id);
  const review = { reviewer: nameCaller(c), status: status ?? null, overrideAddedAt };
  if (await writeReview(database(c.env.DB), item, queue, review)) return item;
  throw new Problem(409, "Other reviewers have reserved this item. Take the next one.");
}

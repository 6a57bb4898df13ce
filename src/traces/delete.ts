/** Deleting traces and the traces of threads. */
import { Count, ResultMessage, choosing, optional, unserved, Uuid } from "../http/shapes.ts";
import { type Context, Hono } from "hono";
import { audit } from "../access/audit/record.ts";
import * as v from "valibot";
import { database } from "../db/client.ts";
import { createDoc } from "../http/route.ts";
import { CONNECTIONS, inParallel } from "../lib/parallel.ts";
import { Problem } from "../lib/problem.ts";
import type { App } from "../http/context.ts";
import { body, param, query } from "../http/validate.ts";
import { refuseLegalHold } from "./projects/retention.ts";
import { traceIndex } from "./lookup/rpc.ts";
import { tracePartition } from "./stub.ts";
import type { TraceIds } from "./rpc.ts";
import type { PartitionLocation } from "./types.ts";
import { deleteTokensOf, runsWithTokens } from "./review/feedback/store.ts";
import { removeThreadItems, removeTraceItems } from "./review/queues/item-store.ts";
import { deleteSharesOfTraces, deleteSharesOfProject } from "./review/share/store.ts";
import { noteDeletions, findProject, deleteProject } from "./projects/store.ts";
import { allLocations, somePartitions } from "./projects/partitions.ts";
import { ThreadId } from "./query/schema.ts";
import { forgetProjects } from "./projects/resolve.ts";

const doc = createDoc("Traces");

const Deleted = v.object({ ...ResultMessage.entries, traces: Count, runs: Count });

const DeleteRuns = choosing({
  session_id: Uuid,
  trace_ids: optional(v.pipe(v.array(Uuid), v.maxLength(1000))),
  /** An own field. */
  thread_ids: optional(v.pipe(v.array(ThreadId.entries.thread_id), v.maxLength(100))),
  metadata: unserved("deletion by metadata. Name the traces"),
});
const TraceId = v.object({ trace_id: Uuid });
const OfProject = choosing({ project_id: Uuid });

export const runDeletion = (hooks: DeletionHooks) =>
  new Hono<App>().post(
    "/runs/delete",
    doc("Delete traces, or the traces of threads, with everything of them", Deleted),
    body(DeleteRuns),
    async (c) => {
      const { session_id, trace_ids = [], thread_ids = [] } = c.req.valid("json");
      if (trace_ids.length + thread_ids.length === 0)
        throw new Problem(422, "Invalid body: expected trace_ids or thread_ids. Deletion by metadata is not served.");
      return c.json(await deleteTraces(c, hooks, session_id, trace_ids, thread_ids));
    },
  );

export const runDeletionV2 = (hooks: DeletionHooks) =>
  new Hono<App>()
    .delete(
      "/traces/:trace_id",
      doc("Delete a trace with everything of it", Deleted),
      param(TraceId),
      query(OfProject),
      async (c) => {
        const { project_id } = c.req.valid("query");
        return c.json(await deleteTraces(c, hooks, project_id, [c.req.valid("param").trace_id], []));
      },
    )
    .delete(
      "/threads/:thread_id",
      doc("Delete the traces of a thread", Deleted),
      param(ThreadId),
      query(OfProject),
      async (c) => {
        const { project_id } = c.req.valid("query");
        return c.json(await deleteTraces(c, hooks, project_id, [], [c.req.valid("param").thread_id]));
      },
    );

/** A thread can have more traces than fit in one parameter of a statement, which is at most 2 MB. */
const AT_ONCE = 10_000;

const locationKey = ({ day, shard }: PartitionLocation) => `${day}#${shard}`;

/**
 * Deletes traces in every partition of the project: their days may be more than one, and ids do not always contain
 * them. The deletion is noted first, so that a request that fails and is sent again leaves nothing behind.
 * @throws Problem 404 without the project, 409 on legal hold.
 */
async function deleteTraces(
  c: Context<App>,
  hooks: DeletionHooks,
  projectId: string,
  traceIds: string[],
  threadIds: string[],
) {
  const { workspaceId } = c.get("principal");
  const db = database(c.env.DB);
  const project = await findProject(db, workspaceId, projectId);
  if (!project) throw new Problem(404, "Project not found.");
  refuseLegalHold(project.legalHold);
  const some = { trace_ids: traceIds.slice(0, 100), thread_ids: threadIds };
  const detail = { project_id: projectId, traces: traceIds.length, ...some };
  await audit(c, { action: "trace.deleted", targetId: traceIds[0] ?? threadIds[0] ?? "", detail });
  const places = async () => allLocations(db, workspaceId, projectId);
  const traces = new Set(traceIds);
  const partition = (location: PartitionLocation) => tracePartition(c.env, workspaceId, location);
  /** The traces that a partition names as those of the threads, by its place. */
  const named = new Map<string, Set<string>>();
  if (threadIds.length > 0) {
    await inParallel(await places(), CONNECTIONS, async (location) => {
      const own = await partition(location).tracesOf(threadIds);
      named.set(locationKey(location), new Set(own));
      for (const trace of own) traces.add(trace);
    });
  }
  const linked = await runsWithTokens(db, workspaceId);
  const all = [...traces];
  if (threadIds.length > 0) await removeThreadItems(db, workspaceId, projectId, threadIds);
  let runs = 0;
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const some = all.slice(at, at + AT_ONCE);
    await noteDeletions(db, workspaceId, projectId, some);
    await deleteSharesOfTraces(db, workspaceId, projectId, some);
    await removeTraceItems(db, workspaceId, projectId, some);
    await deleteTokensOf(db, workspaceId, some);
    await hooks.onTracesDeleted(c.env, workspaceId, projectId, some);
    // A partition that is made after this list reads the note.
    const known = await places();
    // A trace is deleted last where it is named: when this fails before, the same request finds it again.
    for (const isNamed of [false, true]) {
      const counts = await inParallel(known, CONNECTIONS, async (location) => {
        const own = named.get(locationKey(location));
        const chosen = some.filter((trace) => (own?.has(trace) ?? false) === isNamed);
        if (chosen.length === 0) return 0;
        return withTokens(c.env, workspaceId, location, linked, async () => partition(location).deleteTraces(chosen));
      });
      runs += counts.reduce((sum, count) => sum + count, 0);
    }
  }
  return { message: "Traces deleted", traces: all.length, runs };
}

/** Deletes runs of a partition by `remove`, and the links for feedback on those that are gone. `linked`: runs that have one. */
async function withTokens<T>(
  env: Env,
  workspaceId: string,
  location: PartitionLocation,
  linked: string[],
  remove: () => Promise<T>,
): Promise<T> {
  const listHeld = async (ids: string[]) =>
    ids.length === 0 ? [] : (await tracePartition(env, workspaceId, location).lookUp(ids)).held;
  const held = await listHeld(linked);
  const removed = await remove();
  const left = new Set(await listHeld(held));
  const gone = held.filter((id) => !left.has(id));
  await deleteTokensOf(database(env.DB), workspaceId, gone);
  return removed;
}

// Deletes projects with their traces.

const PAGE = 100;

/** Ends what stands on a project that is deleted: its rules and alerts. */
export type OnProjectDeleted = (env: Env, workspaceId: string, projectId: string) => Promise<void>;

/** What other folders do when traces are deleted. */
export interface DeletionHooks {
  onProjectDeleted: OnProjectDeleted;
  /** Deletes what names these traces of a project. */
  onTracesDeleted: (env: Env, workspaceId: string, projectId: string, traceIds: string[]) => Promise<void>;
  /** Whether the deletion of each trace of a project is to be noted when the project is deleted: exports name it. */
  isListed: (env: Env, workspaceId: string, projectId: string) => Promise<boolean>;
}

/**
 * Deletes the traces of these projects, then the projects. `most` is the number of partitions of one request; each takes an
 * RPC, and a request may make 10,000 calls.
 * @throws Problem 503 when partitions are left. The client sends the same request again.
 */
export async function destroyProjects(
  env: Env,
  workspaceId: string,
  ids: string[],
  onDeleted: OnProjectDeleted,
  most = 1_000,
  isListed: DeletionHooks["isListed"] = async () => false,
): Promise<void> {
  const db = database(env.DB);
  const linked = await runsWithTokens(db, workspaceId);
  let left = most;
  for (const projectId of ids) {
    const isNoted = await isListed(env, workspaceId, projectId);
    for (;;) {
      const places = await somePartitions(db, workspaceId, projectId, Math.max(1, Math.min(PAGE, left)));
      if (places.length === 0) {
        await deleteSharesOfProject(db, workspaceId, projectId);
        await removeTraceItems(db, workspaceId, projectId);
        await onDeleted(env, workspaceId, projectId);
        await traceIndex(env, workspaceId).noteDeletedProject(projectId);
        if (await deleteProject(db, workspaceId, projectId)) break;
        continue;
      }
      if (left <= 0) {
        throw new Problem(
          503,
          "The traces of many days have been deleted, and more are left. Send the request again.",
          {
            headers: { "retry-after": "1" },
          },
        );
      }
      await inParallel(places, CONNECTIONS, async ({ day, shard }) => {
        const place = { projectId, day, shard };
        if (isNoted) await noteTraces(env, workspaceId, place);
        await withTokens(env, workspaceId, place, linked, async () =>
          tracePartition(env, workspaceId, place).destroy({ workspaceId, ...place }),
        );
      });
      left -= places.length;
    }
  }
  forgetProjects();
}

/** Notes each trace of a partition as deleted. */
async function noteTraces(env: Env, workspaceId: string, location: PartitionLocation): Promise<void> {
  for (let after: number | undefined = 0; after !== undefined;) {
    const { traces, next }: TraceIds = await tracePartition(env, workspaceId, location).traceIds(after);
    if (traces.length > 0) await noteDeletions(database(env.DB), workspaceId, location.projectId, traces);
    after = next;
  }
}

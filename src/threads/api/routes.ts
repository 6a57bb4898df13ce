/** `/threads`: records, state, history. Their runs are in run-routes.ts. */
import { Hono } from "hono";
import * as v from "valibot";
import { audit } from "../../access/audit/record.ts";
import { jsonArray, jsonArrayOfLines } from "../../http/json-stream.ts";
import { Count, Id, selectable, selectableList, cutPage, selectFields } from "../../http/shapes.ts";
import { createDoc, EVENTS, NOTHING } from "../../http/route.ts";
import { isObject, type Json } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { sseBytes } from "../../http/sse.ts";
import { type App, idempotentId, repeatableId } from "../../http/context.ts";
import { body, param, query } from "../../http/validate.ts";
import { authorize } from "../../access/users/handlers.ts";
import { requireFound, openThread } from "./access.ts";
import { forEach } from "../limits.ts";
import { type OnThreadsDeleted, removeThread } from "./delete.ts";
import { checkpointAddress } from "./request.ts";
import { extractBudget, extractPaths, findThreads } from "./search.ts";
import {
  threadName,
  FoundThread,
  PastState,
  StateBody,
  StorageFigures,
  Thread,
  type ThreadState,
  UpdatedState,
} from "../types.ts";
import { readStates } from "../remote.ts";
import * as schema from "./schema.ts";
import { countThreads } from "../search/store.ts";

const doc = createDoc("Threads");

/** `include=ttl` shows it. Other answers leave it out. */
function withoutTtl<T extends object>(thread: T): Omit<T, "ttl"> {
  const { ttl: _ttl, ...rest } = thread as T & { ttl?: unknown };
  return rest;
}

/** The selected fields of a state. `values.<key>` is one of its values. */
function selectedState(state: ThreadState, select: string[] | undefined): Partial<ThreadState> {
  const keys = select?.flatMap((field) => (field.startsWith("values.") ? field.slice("values.".length) : [])) ?? [];
  const fields = selectFields(state, select);
  if (keys.length === 0 || select?.includes("values")) return fields;
  return { ...fields, values: selectFields((state.values ?? {}) as Json, keys) };
}

/** `onDeleted` ends what stands on a thread that a request deletes. */
export const threads = (onDeleted: OnThreadsDeleted) =>
  new Hono<App>()
    .post("/", doc("Create a thread", Thread), body(schema.ThreadCreate, { exact: true }), async (c) => {
      const { thread_id, metadata = {}, if_exists: ifExists = "raise", ttl, supersteps } = c.req.valid("json");
      const thread = openThread(c, thread_id ?? idempotentId(c));
      // The id is the request's own, so a thread that a repeated call finds is the one that the first call made.
      const known = thread_id === undefined ? "do_nothing" : ifExists;
      return c.json(
        withoutTtl(await thread.create({ metadata, ifExists: known, ttl, supersteps, request_id: repeatableId(c) })),
      );
    })
    .post(
      "/search",
      doc("Search threads", selectableList(FoundThread)),
      body(schema.ThreadSearch, { exact: true }),
      async (c) => {
        const { limit = 10, offset = 0, ...rest } = c.req.valid("json");
        const rows = await findThreads(c.env, c.get("principal").workspaceId, { ...rest, limit, offset });
        const { items, headers } = cutPage(rows, limit, offset);
        return c.json(items, 200, headers);
      },
    )
    .post("/count", doc("Count threads", Count), body(schema.ThreadCount, { exact: true }), async (c) => {
      return c.json(await countThreads(c.env, c.get("principal").workspaceId, c.req.valid("json")));
    })
    .post(
      "/prune",
      doc("Delete threads, or all but their latest checkpoint", v.object({ pruned_count: Count })),
      body(schema.ThreadPrune),
      async (c) => {
        const { thread_ids, strategy } = c.req.valid("json");
        const { workspaceId } = c.get("principal");
        const detail = { strategy, thread_ids: thread_ids.slice(0, 100), threads: thread_ids.length };
        await audit(c, { action: "thread.pruned", targetId: "", detail });
        const pruned = await forEach([...new Set(thread_ids)], (id) =>
          strategy === "delete" ? removeThread(c.env, workspaceId, id, onDeleted) : openThread(c, id).keepLatest(),
        );
        return c.json({ pruned_count: pruned.filter(Boolean).length });
      },
    )
    .get(
      "/:thread_id",
      doc("Get a thread", Thread),
      param(schema.ThreadParam),
      query(schema.ThreadQuery),
      async (c) => {
        const { thread_id } = c.req.valid("param");
        const thread = requireFound(await openThread(c, thread_id).get(), threadName(thread_id));
        return c.json(c.req.valid("query").include?.includes("ttl") ? thread : withoutTtl(thread));
      },
    )
    .patch(
      "/:thread_id",
      doc("Change a thread's metadata or lifetime", { 200: Thread, ...NOTHING }),
      param(schema.ThreadParam),
      body(schema.ThreadPatch, { exact: true }),
      async (c) => {
        const thread = await openThread(c, c.req.valid("param").thread_id).patch(c.req.valid("json"));
        return c.req.header("prefer") === "return=minimal" ? c.body(null, 204) : c.json(withoutTtl(thread));
      },
    )
    .delete(
      "/:thread_id",
      doc("Delete a thread with everything in it", NOTHING),
      param(schema.ThreadParam),
      async (c) => {
        const { workspaceId } = c.get("principal");
        const { thread_id: targetId } = c.req.valid("param");
        if (await openThread(c, targetId).summary()) await audit(c, { action: "thread.deleted", targetId });
        if (!(await removeThread(c.env, workspaceId, targetId, onDeleted)))
          throw new Problem(404, `${threadName(targetId)} not found.`);
        return c.body(null, 204);
      },
    )
    .post("/:thread_id/copy", doc("Copy a thread", Thread), param(schema.ThreadParam), async (c) => {
      const { thread_id } = c.req.valid("param");
      const id = idempotentId(c);
      const copy = openThread(c, id);
      const principal = c.get("principal");
      if (!principal.user) return c.json(withoutTtl(await copy.copyFrom(thread_id)));
      const original = await openThread(c, thread_id).get();
      if (!original) throw new Problem(409, "The thread to copy does not exist.");
      // The copy is a new thread. The handler may change its metadata, for example to name its owner.
      const value: Json = { thread_id: id, metadata: { ...original.metadata }, if_exists: "raise" };
      await authorize(principal, "threads", "create", value);
      const metadata = isObject(value.metadata) ? value.metadata : {};
      return c.json(withoutTtl(await copy.copyFrom(thread_id, metadata)));
    })
    .get(
      "/:thread_id/state",
      doc("The latest state", selectable(StateBody)),
      param(schema.ThreadParam),
      query(schema.StateQuery),
      async (c) => {
        const { subgraphs, select } = c.req.valid("query");
        const { thread_id } = c.req.valid("param");
        const state = await openThread(c, thread_id).state({ subgraphs });
        return c.json(selectedState(requireFound(state, threadName(thread_id)), select));
      },
    )
    .get(
      "/:thread_id/state/:checkpoint_id",
      doc("The state at a checkpoint", selectable(StateBody)),
      param(schema.CheckpointParam),
      query(schema.StateQuery),
      async (c) => {
        const { thread_id, checkpoint_id } = c.req.valid("param");
        const { subgraphs, select } = c.req.valid("query");
        const state = await openThread(c, thread_id).state({ checkpoint: { checkpoint_id }, subgraphs });
        return c.json(selectedState(requireFound(state, threadName(thread_id)), select));
      },
    )
    .post(
      "/:thread_id/state/checkpoint",
      doc("The state at a checkpoint of any namespace", selectable(StateBody)),
      param(schema.ThreadParam),
      body(schema.StateAtCheckpoint),
      async (c) => {
        const { checkpoint, subgraphs, select } = c.req.valid("json");
        const { thread_id } = c.req.valid("param");
        const state = await openThread(c, thread_id).state({ checkpoint: checkpointAddress(checkpoint), subgraphs });
        return c.json(selectedState(requireFound(state, threadName(thread_id)), select));
      },
    )
    .post(
      "/:thread_id/state",
      doc("Update the state as a node would", UpdatedState),
      param(schema.ThreadParam),
      body(schema.StateUpdate),
      async (c) => {
        const { checkpoint, checkpoint_id, ...update } = c.req.valid("json");
        const at = checkpoint_id ? { ...checkpointAddress(checkpoint), checkpoint_id } : checkpointAddress(checkpoint);
        const thread = openThread(c, c.req.valid("param").thread_id);
        return c.json(await thread.updateState({ ...update, update_id: repeatableId(c) }, at));
      },
    )
    .patch(
      "/:thread_id/state",
      doc("Merge into the thread's metadata", NOTHING),
      param(schema.ThreadParam),
      body(schema.StatePatch, { exact: true }),
      async (c) => {
        await openThread(c, c.req.valid("param").thread_id).patch({ metadata: c.req.valid("json").metadata });
        return c.body(null, 204);
      },
    )
    .get(
      "/:thread_id/history",
      doc("Past states, newest first", v.array(StateBody)),
      param(schema.ThreadParam),
      query(schema.HistoryQuery),
      async (c) => {
        const { thread_id } = c.req.valid("param");
        return jsonArrayOfLines(await openThread(c, thread_id).history(c.req.valid("query")));
      },
    )
    .post(
      "/:thread_id/history",
      doc("Past states, newest first, filtered", selectableList(PastState)),
      param(schema.ThreadParam),
      body(schema.HistoryBody),
      async (c) => {
        const { limit = 10, before, metadata, checkpoint, select, extract } = c.req.valid("json");
        const request = { limit, before, metadata, checkpoint: checkpointAddress(checkpoint) };
        const lines = await openThread(c, c.req.valid("param").thread_id).history(request);
        if (!select && !extract) return jsonArrayOfLines(lines);
        return jsonArray(readStates(lines), (state) => ({
          ...selectedState(state, select),
          ...(extract && { extracted: extractPaths({ ...state }, extract, extractBudget()) }),
        }));
      },
    )
    .get(
      "/:thread_id/stream",
      doc("Everything that happens on the thread, run after run (SSE)", EVENTS),
      param(schema.ThreadParam),
      query(schema.ThreadStreamQuery),
      async (c) => {
        const { stream_modes, stream_mode } = c.req.valid("query");
        const thread = openThread(c, c.req.valid("param").thread_id);
        const seen = c.req.header("last-event-id");
        const after = seen === undefined ? undefined : Math.max(Number(seen) || 0, 0);
        return sseBytes(await thread.streamThread(stream_modes ?? stream_mode ?? ["run_modes"], after));
      },
    )
    .get(
      "/:thread_id/storage",
      doc("How much room the thread's checkpoints take", v.object({ thread_id: Id, ...StorageFigures.entries })),
      param(schema.ThreadParam),
      async (c) => {
        const { thread_id } = c.req.valid("param");
        return c.json({ thread_id, ...requireFound(await openThread(c, thread_id).storage(), threadName(thread_id)) });
      },
    );

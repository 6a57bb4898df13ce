/** The routes of a chat application besides the protocol: its list of threads, their state and their history. */
import { Hono, type MiddlewareHandler } from "hono";
import * as v from "valibot";
import { audit } from "../../access/audit/record.ts";
import { defaultGraphId } from "../../agents/assistants/defaults.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import { Id, Time, cutPage } from "../../http/shapes.ts";
import { jsonArrayOfLines } from "../../http/json-stream.ts";
import { Problem } from "../../lib/problem.ts";
import { type App, repeatableId } from "../../http/context.ts";
import { body, param, query } from "../../http/validate.ts";
import { requireAssistant, openThread } from "../../threads/api/access.ts";
import { forEach } from "../../threads/limits.ts";
import { titleIn } from "../../threads/title.ts";
import { deleteCronsOn } from "../../automation/crons/store.ts";
import { removeThread } from "../../threads/api/delete.ts";
import { checkpointAddress } from "../../threads/api/request.ts";
import type { ThreadRpc } from "../../threads/rpc.ts";
import { StateBody, type ThreadState, deriveThreadId } from "../../threads/types.ts";
import { HistoryBody, StateQuery, ThreadParam } from "../../threads/api/schema.ts";
import { searchThreads } from "../../threads/search/store.ts";
import { authorize } from "../../access/users/handlers.ts";
import { Bootstrap, ThreadsQuery } from "./schema.ts";
import { isUuid } from "../../lib/uuid.ts";

const doc = createDoc("Application");

const UNTITLED = "New conversation";
const Titled = v.object({ id: Id, title: v.string(), updatedAt: Time });

const hasCheckpoint = (state: ThreadState | undefined) => Boolean(state?.checkpoint?.checkpoint_id);

/** The thread's state; a thread without a checkpoint and without work has none. */
async function readState(thread: ThreadRpc, subgraphs = false): Promise<ThreadState> {
  const state = await thread.state({ subgraphs });
  if (!state || (!hasCheckpoint(state) && state.next.length === 0)) {
    throw new Problem(404, "This thread has no state yet.");
  }
  return state;
}

export const application = new Hono<App>()
  .get("/", doc("The application's threads, newest first", v.array(Titled)), query(ThreadsQuery), async (c) => {
    const { limit, offset } = c.req.valid("query");
    const metadata = await authorize(c.get("principal"), "threads", "search", { metadata: {} });
    const search = { metadata, limit, offset, sortBy: "updated_at", sortOrder: "desc" } as const;
    const rows = await searchThreads(c.env, c.get("principal").workspaceId, search);
    const { items, headers } = cutPage(rows, limit, offset);
    const shown = await forEach(items, async ({ id, values, updatedAt }) => ({
      id,
      title: (values ? titleIn(values) : await openThread(c, id).title()) ?? UNTITLED,
      updatedAt: new Date(updatedAt).toISOString(),
    }));
    return c.json(shown, 200, headers);
  })
  .delete("/:thread_id", doc("Delete a thread with everything in it", NOTHING), param(ThreadParam), async (c) => {
    // The result is the same for a missing thread.
    const { thread_id: targetId } = c.req.valid("param");
    if (await openThread(c, targetId).summary()) await audit(c, { action: "thread.deleted", targetId });
    await removeThread(c.env, c.get("principal").workspaceId, targetId, deleteCronsOn);
    return c.body(null, 204);
  })
  .get(
    "/:thread_id/state",
    doc("The state; 404 when there is none", StateBody),
    param(ThreadParam),
    query(StateQuery),
    async (c) => c.json(await readState(openThread(c, c.req.valid("param").thread_id), c.req.valid("query").subgraphs)),
  )
  .post(
    "/:thread_id/state",
    doc("Make the thread when there is none, and write values to its state", StateBody),
    param(ThreadParam),
    body(Bootstrap),
    async (c) => {
      const { values, checkpoint, as_node, assistant_id } = c.req.valid("json");
      const principal = c.get("principal");
      const thread = openThread(c, c.req.valid("param").thread_id);
      const summary = await thread.summary();
      if (!summary?.graphId) {
        const { assistant_id: id, graph_id } = await requireAssistant(
          c.env,
          principal,
          assistant_id ?? defaultGraphId(),
        );
        const metadata = { graph_id, assistant_id: id };
        if (summary) await thread.patch({ metadata });
        else await thread.create({ metadata, ifExists: "do_nothing" });
      }
      const fresh = !hasCheckpoint(await thread.state({}));
      const update_id = repeatableId(c);
      if (fresh)
        await thread.updateState({ values: values ?? { messages: [] }, as_node: as_node ?? "__start__", update_id });
      else if (values)
        await thread.updateState({ values, as_node: as_node ?? undefined, update_id }, checkpointAddress(checkpoint));
      return c.json(await readState(thread));
    },
  )
  .post(
    "/:thread_id/history",
    doc("Past states, newest first", v.array(StateBody)),
    param(ThreadParam),
    body(HistoryBody),
    async (c) => {
      const { limit = 10, before, metadata, checkpoint } = c.req.valid("json");
      const request = { limit, before, metadata, checkpoint: checkpointAddress(checkpoint) };
      return jsonArrayOfLines(await openThread(c, c.req.valid("param").thread_id).history(request));
    },
  );

// Names of threads on the application's routes: a client may choose any name instead of a UUID.

/** URL-safe characters (RFC 3986, unreserved). */
const NAME = /^[\w.~-]{1,255}$/;

/**
 * Reads the name in `/api/threads/{name}` as the id of its thread: the same each time, and a user's own. A2A reads a
 * `contextId` in the same way, so both lead to one thread.
 */
export const namedThreads: MiddlewareHandler<App> = async (c, next) => {
  const name = /^\/api\/threads\/([^/]+)/.exec(c.req.path)?.[1];
  if (name !== undefined && !isUuid(name)) {
    if (!NAME.test(name)) throw new Problem(422, "A thread's id has up to 255 letters, digits and -._~ characters.");
    c.set("threadId", deriveThreadId(name, c.get("principal").user?.identity));
  }
  await next();
};

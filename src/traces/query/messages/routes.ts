/** The messages of runs, traces and threads: `/runs/threads/{id}`, and `…/messages` of the second generation. */
import { Hono } from "hono";
import * as v from "valibot";
import { AnyObject } from "../../../http/shapes.ts";
import { createDoc } from "../../../http/route.ts";
import { choosing, Uuid } from "../../../http/shapes.ts";
import { Problem } from "../../../lib/problem.ts";
import type { App } from "../../../http/context.ts";
import { param, query } from "../../../http/validate.ts";
import { RunId, ThreadId } from "../schema.ts";
import { messagesOfRun, messagesOfThread } from "../messages.ts";
import type { Message } from "./said.ts";

const doc = createDoc("Traces");

const ALL = "all_messages";
const Texts = v.object({ thread_id: v.string(), previews: v.object({ all_messages: v.string() }) });
const Messages = v.object({ items: v.array(AnyObject), next_cursor: v.null() });

const ReadThread = v.object({ session_id: Uuid, select: v.optional(v.literal(ALL), ALL) });
const OfRun = choosing({ project_id: v.optional(Uuid) });
const OfProject = choosing({ project_id: Uuid });

/** Mounted before `/runs/:run_id/…`. */
export const threadMessages = new Hono<App>().get(
  "/runs/threads/:thread_id",
  doc(
    "The messages of a thread, as `previews.all_messages`: one JSON text each, with an empty line between two",
    Texts,
  ),
  param(ThreadId),
  query(ReadThread),
  async (c) => {
    const { thread_id } = c.req.valid("param");
    const messages = await readThread(
      c.env,
      c.get("principal").workspaceId,
      c.req.valid("query").session_id,
      thread_id,
    );
    const all_messages = messages.map((message) => JSON.stringify(message)).join("\n\n");
    return c.json({ thread_id, previews: { all_messages } });
  },
);

export const messagesV2 = new Hono<App>()
  .get("/runs/:run_id/messages", doc("The messages of a run", Messages), param(RunId), query(OfRun), async (c) => {
    const { project_id } = c.req.valid("query");
    const whose = { projectIds: project_id ? [project_id] : [], selection: { ids: [c.req.valid("param").run_id] } };
    return c.json(page(await messagesOfRun(c.env, { workspaceId: c.get("principal").workspaceId, ...whose })));
  })
  .get("/traces/:run_id/messages", doc("The messages of a trace", Messages), param(RunId), query(OfRun), async (c) => {
    const { project_id } = c.req.valid("query");
    const selection = { traceId: c.req.valid("param").run_id, isRoot: true };
    const whose = { projectIds: project_id ? [project_id] : [], selection };
    return c.json(page(await messagesOfRun(c.env, { workspaceId: c.get("principal").workspaceId, ...whose })));
  })
  .get(
    "/threads/:thread_id/messages",
    doc("The messages of a thread", Messages),
    param(ThreadId),
    query(OfProject),
    async (c) => {
      const { thread_id } = c.req.valid("param");
      return c.json(
        page(await readThread(c.env, c.get("principal").workspaceId, c.req.valid("query").project_id, thread_id)),
      );
    },
  );

async function readThread(env: Env, workspaceId: string, projectId: string, threadId: string): Promise<Message[]> {
  const selection = { threadId, isRoot: true };
  const messages = await messagesOfThread(env, { workspaceId, projectIds: [projectId], selection });
  if (!messages) throw new Problem(404, "The project has no such thread.");
  return messages;
}

function page(items: Message[] | undefined) {
  if (!items) throw new Problem(404, "Run not found.");
  return { items, next_cursor: null };
}

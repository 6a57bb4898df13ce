/** The actions of the guard's table: each calls the handler of an event and narrows the request to its answer. */
import { Problem } from "../../lib/problem.ts";
import { EVENT_STREAM, sseFrame } from "../../http/sse.ts";
import { mayUse } from "./access.ts";
import { MOST_CRON_IDS } from "../../automation/crons/schema.ts";
import { mergeFilters, containsJson, mayDelete } from "../../access/users/handlers.ts";
import { type Call, type Json, readMetadata, requireMatch } from "../../permissions/call.ts";
import { threadName } from "../named.ts";

export type Rule = (call: Call) => Promise<Response | void>;

/** Creating a resource: the handler may change its metadata, and an id of another owner counts as taken. */
export function creates(resource: "assistants" | "threads", idField: string, target: "assistant" | "thread"): Rule {
  return async (call) => {
    const value = { ...(await call.body()) };
    value.metadata = readMetadata(value);
    const filter = await call.allowed(resource, "create", value);
    const id = value[idField];
    const existing = typeof id === "string" ? await call[target](id) : undefined;
    if (existing && filter && !containsJson(existing, filter)) throw new Problem(409, `This ${idField} is taken.`);
    call.pass(value);
  };
}

/** A search or a count, among what the handler lets the user see. */
export function searches(resource: string): Rule {
  return async (call) => {
    const value = { ...(await call.body()) };
    value.metadata = readMetadata(value);
    const filter = await call.allowed(resource, "search", value);
    const metadata = filter ? mergeFilters(value.metadata as Json, filter) : value.metadata;
    if (!metadata) return call.c.json(call.ids[0] === "count" ? 0 : []);
    call.pass({ ...value, metadata });
  };
}

const WHAT = { assistant: "Assistant", cron: "Cron" };

/** A call about one thing, named in the path. A change's metadata is the handler's to change. */
export function about(
  resource: "assistants" | "threads" | "crons",
  action: "read" | "update" | "delete" | "create_run",
): Rule {
  const field = { assistants: "assistant_id", threads: "thread_id", crons: "cron_id" }[resource];
  const target = ({ assistants: "assistant", threads: "thread", crons: "cron" } as const)[resource];
  return async (call) => {
    const [id = ""] = call.ids;
    const changes = call.c.req.method === "PATCH";
    const body = changes ? await call.body() : {};
    const value: Json = { ...body, [field]: id };
    const filter = await call.allowed(resource, action, value);
    requireMatch(await call[target](id), filter, target === "thread" ? threadName(id) : WHAT[target]);
    if (changes) call.pass({ ...value, [field]: undefined });
  };
}

/**
 * Joining a run's stream. A thread that the user may not see is an `error` event in a stream that ends, as on the Agent
 * Server, whose clients read the answers to their streams as events.
 */
export async function joinsStream(call: Call): Promise<Response | void> {
  const [id = ""] = call.ids;
  const filter = await call.allowed("threads", "read", { thread_id: id });
  const metadata = await call.thread(id);
  if (metadata && (!filter || containsJson(metadata, filter))) return;
  const data = JSON.stringify({ error: "Error", message: `404: ${threadName(id)} not found.` });
  return new Response(sseFrame({ event: "error", data }), { headers: EVENT_STREAM });
}

/** Copying a thread. One that the user may not see is one that does not exist: a conflict, as for other callers. */
export async function authorizeCopy(call: Call): Promise<void> {
  const [id = ""] = call.ids;
  const filter = await call.allowed("threads", "read", { thread_id: id });
  const metadata = await call.thread(id);
  if (!metadata || (filter && !containsJson(metadata, filter)))
    throw new Problem(409, "The thread to copy does not exist.");
}

/** Work on a thread of the streaming protocol, which makes the thread where there is none. */
export function requireOwner(action: "read" | "update" | "create_run"): Rule {
  return (call) => call.own(call.ids[0] ?? "", action);
}

/** Runs. `mayRun` in threads/requests/runs/request.ts asks the handlers; here traces are refused, which come in under the same paths. */
export async function startsRun(call: Call): Promise<void> {
  if (typeof (await call.body()).assistant_id === "string") return;
  throw new Problem(422, "Invalid body.assistant_id: expected string");
}

/** The same for several runs. A batch of traces is an object. */
export async function startsBatch(call: Call): Promise<void> {
  if (Array.isArray(await call.json())) return;
  throw new Problem(422, "Invalid body: expected array");
}

/** A cron: its assistant and its thread must be ones that the user may use. */
export async function createsCron(call: Call): Promise<void> {
  const [threadId] = call.ids;
  const value: Json = { ...(await call.body()), thread_id: threadId };
  value.metadata = readMetadata(value);
  await uses(call, value.assistant_id);
  await call.allowed("crons", "create", value);
  if (threadId !== undefined) {
    requireMatch(
      await call.thread(threadId),
      await call.allowed("threads", "read", { thread_id: threadId }),
      threadName(threadId),
    );
  }
  call.pass({ ...value, thread_id: undefined });
}

async function uses(call: Call, assistantId: unknown): Promise<void> {
  if (typeof assistantId !== "string") return;
  const assistant = await call.namedAssistant(assistantId);
  if (assistant && !(await mayUse(call.principal, assistant))) throw new Problem(404, "Assistant not found.");
}

/** Many threads at once: those of others are left out. */
export async function prunes(call: Call): Promise<void> {
  const body = await call.body();
  const ids = Array.isArray(body.thread_ids) ? body.thread_ids.map(String) : [];
  const own = await Promise.all(
    ids.map(async (id) => {
      const metadata = await call.thread(id);
      return metadata && (await mayDelete(call.principal, id, metadata)) ? [id] : [];
    }),
  );
  call.pass({ ...body, thread_ids: own.flat() });
}

/** What became of several crons: those of others are left out. */
export async function listsFirings(call: Call): Promise<void> {
  const body = await call.body();
  const ids = Array.isArray(body.cron_ids)
    ? body.cron_ids.slice(0, MOST_CRON_IDS + 1).map((id) => String(id).toLowerCase())
    : [];
  const own = await Promise.all(
    ids.map(async (id) => {
      const metadata = await call.cron(id);
      const filter = metadata && (await call.allowed("crons", "read", { cron_id: id }));
      return metadata && (!filter || containsJson(metadata, filter)) ? [id] : [];
    }),
  );
  // The route refuses a longer list, and a value that is not a list.
  call.pass(ids.length > MOST_CRON_IDS || !Array.isArray(body.cron_ids) ? body : { ...body, cron_ids: own.flat() });
}

/** Runs of one thread. Across threads only the workspace's own keys may stop runs. */
export async function cancels(call: Call): Promise<void> {
  const { thread_id: id } = await call.body();
  if (typeof id !== "string") throw new Problem(403, "Name the thread whose runs to stop with thread_id and run_ids.");
  requireMatch(await call.thread(id), await call.allowed("threads", "update", { thread_id: id }), threadName(id));
}

/** A stateless run's thread may already be deleted: the run itself has its owner. */
export async function joins(call: Call): Promise<void> {
  const [id = ""] = call.ids;
  requireMatch(await call.run(id, id), await call.allowed("threads", "read", { thread_id: id }), "Run");
}

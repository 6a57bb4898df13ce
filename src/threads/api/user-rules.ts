/**
 * What the deployment's own `Auth` is asked about assistants, threads and runs. A user's assistant is checked where its runs are,
 * so the rules of assistants are here too.
 */
import { type Assistant, resolveAssistant } from "../../agents/assistants/store.ts";
import { containsJson, mergeFilters, mayDelete } from "../../access/users/handlers.ts";
import { readMetadata, requireMatch, type UserRequest, type UserRule } from "../../access/users/request.ts";
import { database } from "../../db/client.ts";
import { EVENT_STREAM, sseFrame } from "../../http/sse.ts";
import type { Json } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { isUuid } from "../../lib/uuid.ts";
import { threadStub } from "../remote.ts";
import { threadName } from "../types.ts";
import { threadMetadata, mayUse } from "./access.ts";

/** A resource that handlers of the deployment's own `Auth` decide about. */
export interface UserResource {
  /** The name of the resource in events. */
  name: "assistants" | "threads" | "crons";
  /** The member of an event's value that has the id. */
  idField: string;
  /** The thing with this id, for errors. */
  label(id: string): string;
  /** The metadata, which filters are compared with; undefined when there is no such thing. */
  metadata(request: UserRequest, id: string): Promise<Json | undefined>;
}

export const ASSISTANTS: UserResource = {
  name: "assistants",
  idField: "assistant_id",
  label: () => "Assistant",
  metadata: async (request, id) => (await namedAssistant(request, id))?.metadata,
};

export const THREADS: UserResource = {
  name: "threads",
  idField: "thread_id",
  label: threadName,
  metadata: async ({ c, principal }, id) => threadMetadata(c.env, principal.workspaceId, id),
};

export async function namedAssistant({ c, principal }: UserRequest, id: string): Promise<Assistant | undefined> {
  return resolveAssistant(database(c.env.DB), principal.workspaceId, id);
}

/** Creating a resource: the handler may change its metadata, and an id of another owner counts as taken. */
export function creates(resource: UserResource): UserRule {
  const { name, idField } = resource;
  return async (call) => {
    const value = { ...(await call.body()) };
    value.metadata = readMetadata(value);
    const filter = await call.allowed(name, "create", value);
    const id = value[idField];
    const existing = typeof id === "string" ? await resource.metadata(call, id) : undefined;
    if (existing && filter && !containsJson(existing, filter)) throw new Problem(409, `This ${idField} is taken.`);
    call.pass(value);
  };
}

/** A search or a count, among what the handler lets the user see. */
export function searches({ name }: Pick<UserResource, "name">): UserRule {
  return async (call) => {
    const value = { ...(await call.body()) };
    value.metadata = readMetadata(value);
    const filter = await call.allowed(name, "search", value);
    const metadata = filter ? mergeFilters(value.metadata as Json, filter) : value.metadata;
    if (!metadata) return call.c.json(call.ids[0] === "count" ? 0 : []);
    call.pass({ ...value, metadata });
  };
}

/** A call about one thing, named in the path. A change's metadata is the handler's to change. */
export function about(resource: UserResource, action: "read" | "update" | "delete" | "create_run"): UserRule {
  const { name, idField } = resource;
  return async (call) => {
    const [id = ""] = call.ids;
    const changes = call.c.req.method === "PATCH";
    const body = changes ? await call.body() : {};
    const value: Json = { ...body, [idField]: id };
    const filter = await call.allowed(name, action, value);
    requireMatch(await resource.metadata(call, id), filter, resource.label(id));
    if (changes) call.pass({ ...value, [idField]: undefined });
  };
}

/**
 * Joining a run's stream. A thread that the user may not see is an `error` event in a stream that ends, as on the Agent
 * Server, whose clients read the answers to their streams as events.
 */
export async function joinsStream(call: UserRequest): Promise<Response | void> {
  const [id = ""] = call.ids;
  const filter = await call.allowed("threads", "read", { thread_id: id });
  const metadata = await THREADS.metadata(call, id);
  if (metadata && (!filter || containsJson(metadata, filter))) return;
  const data = JSON.stringify({ error: "Error", message: `404: ${threadName(id)} not found.` });
  return new Response(sseFrame({ event: "error", data }), { headers: EVENT_STREAM });
}

/** Copying a thread. One that the user may not see is one that does not exist: a conflict, as for other callers. */
export async function authorizeCopy(call: UserRequest): Promise<void> {
  const [id = ""] = call.ids;
  const filter = await call.allowed("threads", "read", { thread_id: id });
  const metadata = await THREADS.metadata(call, id);
  if (!metadata || (filter && !containsJson(metadata, filter)))
    throw new Problem(409, "The thread to copy does not exist.");
}

/** Work on a thread of the streaming protocol, which makes the thread where there is none. */
export function requireOwner(action: "read" | "update" | "create_run"): UserRule {
  return (call) => ownThread(call, call.ids[0] ?? "", action);
}

/** A thread that this request works on, and makes when there is none: then it is the user's. */
async function ownThread(
  request: UserRequest,
  threadId: string,
  action: "read" | "update" | "create_run",
): Promise<void> {
  const metadata = await THREADS.metadata(request, threadId);
  if (metadata)
    return requireMatch(
      metadata,
      await request.allowed("threads", action, { thread_id: threadId }),
      threadName(threadId),
    );
  if (!isUuid(threadId)) return;
  const value = { thread_id: threadId, metadata: {}, if_exists: "do_nothing" };
  await request.allowed("threads", "create", value);
  const stub = threadStub(request.c.env, request.principal.workspaceId, threadId);
  await stub.create({ metadata: value.metadata, ifExists: "do_nothing" });
}

/** Runs. `mayRun` in request.ts asks the handlers; here traces are refused, which come in under the same paths. */
export async function startsRun(call: UserRequest): Promise<void> {
  if (typeof (await call.body()).assistant_id === "string") return;
  throw new Problem(422, "Invalid body.assistant_id: expected string");
}

/** The same for several runs. A batch of traces is an object. */
export async function startsBatch(call: UserRequest): Promise<void> {
  if (Array.isArray(await call.json())) return;
  throw new Problem(422, "Invalid body: expected array");
}

/** The assistant, where the request names one, must be one that the user may use. */
export async function requireUsable(call: UserRequest, assistantId: unknown): Promise<void> {
  if (typeof assistantId !== "string") return;
  const assistant = await namedAssistant(call, assistantId);
  if (assistant && !(await mayUse(call.principal, assistant))) throw new Problem(404, "Assistant not found.");
}

/** Many threads at once: those of others are left out. */
export async function prunes(call: UserRequest): Promise<void> {
  const body = await call.body();
  const ids = Array.isArray(body.thread_ids) ? body.thread_ids.map(String) : [];
  const own = await Promise.all(
    ids.map(async (id) => {
      const metadata = await THREADS.metadata(call, id);
      return metadata && (await mayDelete(call.principal, id, metadata)) ? [id] : [];
    }),
  );
  call.pass({ ...body, thread_ids: own.flat() });
}

/** Runs of one thread. Across threads only the workspace's own keys may stop runs. */
export async function cancels(call: UserRequest): Promise<void> {
  const { thread_id: id } = await call.body();
  if (typeof id !== "string") throw new Problem(403, "Name the thread whose runs to stop with thread_id and run_ids.");
  requireMatch(
    await THREADS.metadata(call, id),
    await call.allowed("threads", "update", { thread_id: id }),
    threadName(id),
  );
}

/** A stateless run's thread may already be deleted: the run itself has its owner. */
export async function joins(call: UserRequest): Promise<void> {
  const [id = ""] = call.ids;
  requireMatch(
    (await threadStub(call.c.env, call.principal.workspaceId, id).getRun(id))?.metadata,
    await call.allowed("threads", "read", { thread_id: id }),
    "Run",
  );
}

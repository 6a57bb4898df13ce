/** The actions of the guard's table: each calls the handler of an event and narrows the request to its answer. */
import type { Context } from "hono";
import { type Assistant, resolveAssistant } from "../../agents/assistants/store.ts";
import type { Principal } from "../../http/principal.ts";
import { findCronMetadata } from "../../automation/crons/store.ts";
import { database } from "../../db/client.ts";
import { isObject } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import type { App } from "../../http/context.ts";
import { isUuid } from "../../lib/uuid.ts";
import { readCopy, readJson } from "../../http/validate.ts";
import { threadMetadata, mayUse } from "./access.ts";
import { threadStub } from "../remote.ts";
import { authorize, containsJson, type Filter, mergeFilters, mayDelete } from "../../access/users/handlers.ts";
import { threadName } from "../types.ts";
import { EVENT_STREAM, sseFrame } from "../../http/sse.ts";
import { MOST_CRON_IDS } from "../../automation/crons/schema.ts";

// One request of a user before it reaches the routes: its action and its resource.

export type Json = Record<string, unknown>;

/** The routes accept a UUID in capitals as the same id. The permission check and the lookup must do the same. */
function normaliseId(id: string): string {
  return isUuid(id) ? id.toLowerCase() : id;
}

const idIn = (value: unknown) => (typeof value === "string" ? normaliseId(value) : value);

function normaliseIds(body: Json): Json {
  const { thread_id, assistant_id, thread_ids, params } = body;
  return {
    ...body,
    ...(thread_id !== undefined && { thread_id: idIn(thread_id) }),
    ...(assistant_id !== undefined && { assistant_id: idIn(assistant_id) }),
    ...(Array.isArray(thread_ids) && { thread_ids: thread_ids.map(idIn) }),
    ...(isObject(params) && { params: normaliseIds(params) }),
  };
}

/** A call of a user, with the parts that its rule reads and changes. */
export class Call {
  readonly principal: Principal;
  /** The path's parts that the table's pattern captured. */
  readonly ids: string[];

  constructor(
    readonly c: Context<App>,
    parts: string[],
  ) {
    this.principal = c.get("principal");
    this.ids = parts.map(normaliseId);
  }

  /** The body; an empty object where it is none, for the route itself to refuse. */
  async body(): Promise<Json> {
    const body = await this.json();
    return isObject(body) ? normaliseIds(body) : {};
  }

  /** The body as it was sent. */
  async json(): Promise<unknown> {
    return readCopy(this.c.req.raw, readJson);
  }

  /** Sends another body on to the route. */
  pass(body: unknown): void {
    const { raw } = this.c.req;
    const headers = new Headers(raw.headers);
    headers.delete("content-length");
    headers.set("content-type", "application/json");
    this.c.req.raw = new Request(raw.url, { method: raw.method, headers, body: JSON.stringify(body) });
  }

  allowed(resource: string, action: string, value: Json): Promise<Filter> {
    return authorize(this.principal, resource, action, value);
  }

  async namedAssistant(id: string): Promise<Assistant | undefined> {
    return resolveAssistant(database(this.c.env.DB), this.principal.workspaceId, id);
  }

  async assistant(id: string): Promise<Json | undefined> {
    return (await this.namedAssistant(id))?.metadata;
  }

  async thread(id: string): Promise<Json | undefined> {
    return threadMetadata(this.c.env, this.principal.workspaceId, id);
  }

  async run(threadId: string, runId: string): Promise<Json | undefined> {
    return (await threadStub(this.c.env, this.principal.workspaceId, threadId).getRun(runId))?.metadata;
  }

  async cron(id: string): Promise<Json | undefined> {
    return findCronMetadata(database(this.c.env.DB), this.principal.workspaceId, id);
  }

  /** A thread that this call works on, and makes when there is none: then it is the user's. */
  async own(threadId: string, action: "read" | "update" | "create_run"): Promise<void> {
    const metadata = await this.thread(threadId);
    if (metadata)
      return requireMatch(
        metadata,
        await this.allowed("threads", action, { thread_id: threadId }),
        threadName(threadId),
      );
    if (!isUuid(threadId)) return;
    const value = { thread_id: threadId, metadata: {}, if_exists: "do_nothing" };
    await this.allowed("threads", "create", value);
    const stub = threadStub(this.c.env, this.principal.workspaceId, threadId);
    await stub.create({ metadata: value.metadata, ifExists: "do_nothing" });
  }
}

/** What a user may not see is as if it did not exist. */
export function requireMatch(metadata: Json | undefined, filter: Filter, what: string): void {
  if (!metadata || (filter && !containsJson(metadata, filter))) throw new Problem(404, `${what} not found.`);
}

export const readMetadata = (body: Json): Json => (isObject(body.metadata) ? { ...body.metadata } : {});

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

/**
 * What a user of the deployment's own `Auth` may do, as ONE table over the agent server's routes: each row asks the
 * handler of an event and narrows the request by its answer. A route without a row is not for users.
 */
import type { MiddlewareHandler } from "hono";
import { isObject } from "../http/json.ts";
import { Problem } from "../http/problem.ts";
import type { App } from "../http/types.ts";
import { readJson } from "../http/validate.ts";
import { userRouteScope } from "./app.ts";
import { both, containsJson, mayUse } from "./authorize.ts";
import { Call, type Json, metadataOf, mustContain } from "./call.ts";

type Rule = (call: Call) => Promise<Response | void>;
type Row = [methods: string, path: RegExp, rule: Rule];

const TABLE: Row[] = [
  ["POST", /^\/assistants$/, creates("assistants", "assistant_id", "assistant")],
  ["POST", /^\/assistants\/(search|count)$/, searches("assistants")],
  ["GET", /^\/assistants\/([^/]+)(?:\/.*)?$/, about("assistants", "read")],
  ["POST", /^\/assistants\/([^/]+)\/versions$/, about("assistants", "read")],
  ["POST", /^\/assistants\/([^/]+)\/latest$/, about("assistants", "update")],
  ["PATCH", /^\/assistants\/([^/]+)$/, about("assistants", "update")],
  ["DELETE", /^\/assistants\/([^/]+)$/, about("assistants", "delete")],

  ["POST", /^\/threads$/, creates("threads", "thread_id", "thread")],
  ["POST", /^\/threads\/(search|count)$/, searches("threads")],
  ["POST", /^\/threads\/prune$/, prunes],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/runs\/crons$/, createsCron],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/runs(?:\/stream|\/wait)?$/, startsRun],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/runs\/[^/]+\/cancel$/, about("threads", "update")],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/(?:history|state\/checkpoint)$/, about("threads", "read")],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/copy$/, about("threads", "read")],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/state$/, about("threads", "update")],
  ["PATCH", /^\/(?:api\/)?threads\/([^/]+)(?:\/state)?$/, about("threads", "update")],
  ["DELETE", /^\/(?:api\/)?threads\/([^/]+)(?:\/runs\/[^/]+)?$/, about("threads", "delete")],

  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/commands$/, commands],
  ["POST", /^\/(?:api\/)?threads\/([^/]+)\/stream(?:\/events)?$/, owns("read")],
  ["SOCKET", /^\/(?:api\/)?threads\/([^/]+)\/stream\/events$/, owns("create_run")],
  ["POST", /^\/api\/threads\/([^/]+)\/state$/, owns("update")],
  ["POST", /^\/api\/threads\/([^/]+)\/history$/, about("threads", "read")],
  ["DELETE", /^\/api\/threads\/([^/]+)$/, about("threads", "delete")],
  ["GET", /^\/(?:api\/)?threads\/([^/]+)(?:\/.*)?$/, about("threads", "read")],

  ["POST", /^\/runs\/crons$/, createsCron],
  ["POST", /^\/runs\/crons\/(search|count)$/, searches("crons")],
  ["GET", /^\/runs\/crons\/([^/]+)$/, about("crons", "read")],
  ["PATCH", /^\/runs\/crons\/([^/]+)$/, about("crons", "update")],
  ["DELETE", /^\/runs\/crons\/([^/]+)$/, about("crons", "delete")],
  ["POST", /^\/runs(?:\/stream|\/wait)?$/, startsRun],
  ["POST", /^\/runs\/batch$/, startsBatch],
  ["POST", /^\/runs\/cancel$/, cancels],
  ["GET", /^\/runs\/([^/]+)\/(?:stream|join)$/, joins],

  ["PUT", /^\/store\/items$/, stores("put", "namespace")],
  ["DELETE", /^\/store\/items$/, stores("delete", "namespace")],
  ["POST", /^\/store\/items\/search$/, stores("search", "namespace_prefix")],
  ["POST", /^\/store\/namespaces$/, stores("list_namespaces", "prefix")],
  ["GET", /^\/store\/items$/, readsItem],

  // These ask the handlers themselves.
  ["GET", /^\/api\/threads$/, async () => {}],
  ["*", /^\/mcp$/, async () => {}],
  ["POST", /^\/a2a\/[^/]+\/?$/, async () => {}],
];

/** Lets a user's request through, narrowed to what the user may see. Other callers pass untouched. */
export const guardUsers: MiddlewareHandler<App> = async (c, next) => {
  const principal = c.get("principal") as App["Variables"]["principal"] | undefined;
  if (!principal?.user) return next();
  const { method, path } = c.req;
  const verb = c.req.header("upgrade") === undefined ? method : "SOCKET";
  const row = TABLE.find(([methods, pattern]) => (methods === "*" || methods === verb) && pattern.test(path));
  if (!row && userRouteScope(c)) return next();
  if (!row) throw new Problem(403, "This call is not for users of this deployment.");
  const ids = row[1].exec(path)?.slice(1) ?? [];
  const answer = await row[2](new Call(c, ids.map(decodeURIComponent)));
  if (answer) return answer;
  return next();
};

function creates(resource: "assistants" | "threads", idField: string, target: "assistant" | "thread"): Rule {
  return async (call) => {
    const value = { ...(await call.body()) };
    value.metadata = metadataOf(value);
    const filter = await call.allowed(resource, "create", value);
    const id = value[idField];
    const existing = typeof id === "string" ? await call[target](id) : undefined;
    if (existing && filter && !containsJson(existing, filter)) throw new Problem(409, `This ${idField} is taken.`);
    call.pass(value);
  };
}

function searches(resource: string): Rule {
  return async (call) => {
    const value = { ...(await call.body()) };
    value.metadata = metadataOf(value);
    const filter = await call.allowed(resource, "search", value);
    const metadata = filter ? both(value.metadata as Json, filter) : value.metadata;
    if (!metadata) return call.c.json(call.ids[0] === "count" ? 0 : []);
    call.pass({ ...value, metadata });
  };
}

/** A call about one thing, named in the path. A change's metadata is the handler's to change. */
function about(resource: "assistants" | "threads" | "crons", action: "read" | "update" | "delete"): Rule {
  const field = { assistants: "assistant_id", threads: "thread_id", crons: "cron_id" }[resource];
  const target = ({ assistants: "assistant", threads: "thread", crons: "cron" } as const)[resource];
  return async (call) => {
    const [id = ""] = call.ids;
    const changes = call.c.req.method === "PATCH";
    const body = changes ? await call.body() : {};
    const value: Json = { ...body, [field]: id };
    const filter = await call.allowed(resource, action, value);
    mustContain(await call[target](id), filter, target[0]?.toUpperCase() + target.slice(1));
    if (changes) call.pass({ ...value, [field]: undefined });
  };
}

function owns(action: "read" | "update" | "create_run"): Rule {
  return (call) => call.own(call.ids[0] ?? "", action);
}

async function commands(call: Call): Promise<void> {
  const { params } = await call.body();
  await call.own(call.ids[0] ?? "", "create_run");
  if (isObject(params)) await uses(call, params.assistant_id);
}

/** A run on a thread, or, without one in the path, on a new thread that takes the run's metadata. */
async function startsRun(call: Call): Promise<void> {
  call.pass(await narrowedRun(call, await call.body(), call.ids[0]));
}

async function startsBatch(call: Call): Promise<void> {
  const bodies = await readJson(call.c.req.raw.clone());
  const all = Array.isArray(bodies) ? bodies.filter(isObject) : [];
  call.pass(await Promise.all(all.map((body) => narrowedRun(call, body, undefined))));
}

async function narrowedRun(call: Call, body: Json, threadId: string | undefined): Promise<Json> {
  // Traces come in under the same path; they are not for users.
  if (typeof body.assistant_id !== "string") throw new Problem(422, "Invalid body.assistant_id: expected string");
  await uses(call, body.assistant_id);
  const value: Json = { ...body, thread_id: threadId, metadata: metadataOf(body), kwargs: body };
  const filter = await call.allowed("threads", "create_run", value);
  if (threadId !== undefined) {
    const metadata = await call.thread(threadId);
    if (metadata || body.if_not_exists !== "create") mustContain(metadata, filter, "Thread");
  }
  return { ...body, metadata: value.metadata };
}

async function createsCron(call: Call): Promise<void> {
  const [threadId] = call.ids;
  const value: Json = { ...(await call.body()), thread_id: threadId };
  value.metadata = metadataOf(value);
  await uses(call, value.assistant_id);
  await call.allowed("crons", "create", value);
  if (threadId !== undefined) {
    mustContain(await call.thread(threadId), await call.allowed("threads", "read", { thread_id: threadId }), "Thread");
  }
  call.pass({ ...value, thread_id: undefined });
}

async function uses(call: Call, assistantId: unknown): Promise<void> {
  if (typeof assistantId !== "string") return;
  const metadata = await call.assistant(assistantId);
  if (metadata && !(await mayUse(call.principal, { assistant_id: assistantId, metadata }))) {
    throw new Problem(404, "Assistant not found.");
  }
}

async function prunes(call: Call): Promise<void> {
  const body = await call.body();
  const ids = Array.isArray(body.thread_ids) ? body.thread_ids.map(String) : [];
  const own = await Promise.all(
    ids.map(async (id) => {
      const filter = await call.allowed("threads", "delete", { thread_id: id });
      const metadata = await call.thread(id);
      return metadata && (!filter || containsJson(metadata, filter)) ? [id] : [];
    }),
  );
  call.pass({ ...body, thread_ids: own.flat() });
}

async function cancels(call: Call): Promise<void> {
  const { thread_id: id } = await call.body();
  if (typeof id !== "string") throw new Problem(403, "Name the thread whose runs to stop with thread_id and run_ids.");
  mustContain(await call.thread(id), await call.allowed("threads", "update", { thread_id: id }), "Thread");
}

/** A stateless run's thread may be gone already: the run itself tells whose it is. */
async function joins(call: Call): Promise<void> {
  const [id = ""] = call.ids;
  mustContain(await call.run(id, id), await call.allowed("threads", "read", { thread_id: id }), "Run");
}

/** The Store knows no metadata: a handler narrows the namespace instead. */
function stores(action: string, field: "namespace" | "namespace_prefix" | "prefix"): Rule {
  return async (call) => {
    const body = await call.body();
    const { [field]: given, ...rest } = body;
    const value: Json = { ...rest, namespace: Array.isArray(given) ? given : [] };
    await call.allowed("store", action, value);
    const { namespace, ...changed } = value;
    call.pass({ ...changed, [field]: namespace });
  };
}

async function readsItem(call: Call): Promise<void> {
  const namespace = call.c.req.queries("namespace") ?? [];
  const labels = namespace.length === 1 ? (namespace[0] ?? "").split(".").filter(Boolean) : namespace;
  const value: Json = { namespace: labels, key: call.c.req.query("key") ?? "" };
  await call.allowed("store", "get", value);
  const { namespace: narrowed } = value;
  if (!Array.isArray(narrowed)) throw new Problem(403, "Not allowed.");
  call.passQuery({ namespace: narrowed.join("."), key: String(value.key) });
}

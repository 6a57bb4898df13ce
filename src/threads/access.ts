/** From a request to the thread and the assistant it names, within the caller's workspace. */
import { isDefaultAssistant } from "../assistants/defaults.ts";
import { type Assistant, assistantToRun } from "../assistants/store.ts";
import type { Principal } from "../principal.ts";
import { database } from "../db/client.ts";
import { isObject } from "../http/json.ts";
import { Problem } from "../http/problem.ts";
import { authorize, containsJson } from "../users/authorize.ts";
import type { Json } from "../json.ts";
import type { ThreadRpc } from "./rpc.ts";
import { threadStub } from "./stub.ts";
import type { RunCreate } from "./runs/schema.ts";

interface Call {
  env: Env;
  get(name: "principal"): Principal;
}

/** The thread of the caller's workspace. Another workspace's id leads to a thread that does not exist. */
export function threadOf(c: Call, threadId: string): ThreadRpc {
  return threadStub(c.env, c.get("principal").workspaceId, threadId);
}

/** The caller of a run. `configurable`: what graphs may read of the request's headers, and of its user. */
export interface Caller {
  env: Env;
  principal: Principal;
  configurable: Json;
}

/**
 * The one decision whether a principal may run an assistant on a thread. A user needs `assistants:read` of the assistant
 * and `threads:create_run` of the thread. Gives the assistant, and the run's metadata as the handlers leave it.
 * 403 when a handler refuses, 404 when the assistant or the thread is not one that the user sees.
 */
export async function mayRun(
  { env, principal }: Pick<Caller, "env" | "principal">,
  threadId: string,
  body: RunCreate,
): Promise<{ assistant: Assistant; metadata?: Json }> {
  const { metadata } = body;
  const assistant = await assistantOf(env, principal, body.assistant_id);
  if (!principal.user) return { assistant, metadata: metadata ?? undefined };
  const value: Json = { ...body, thread_id: threadId, metadata: { ...metadata }, kwargs: body };
  const filter = await authorize(principal, "threads", "create_run", value);
  const thread = filter && (await threadMetadata(env, principal.workspaceId, threadId));
  // A thread that does not exist is made, or refused, by the run.
  if (thread && !containsJson(thread, filter)) throw new Problem(404, "Thread not found.");
  return { assistant, metadata: isObject(value.metadata) ? value.metadata : {} };
}

/** The metadata that say whose a thread is. One of a stateless run may be ending: then its run says so. */
export async function threadMetadata(env: Env, workspaceId: string, threadId: string): Promise<Json | undefined> {
  const thread = threadStub(env, workspaceId, threadId);
  return ((await thread.get()) ?? (await thread.getRun(threadId)))?.metadata;
}

/** Whether the principal may run the assistant. Every user may run a default assistant, and any other if they may read it. */
export async function mayUse(
  principal: Principal,
  { assistant_id, metadata }: { assistant_id: string; metadata: Json },
): Promise<boolean> {
  if (isDefaultAssistant(assistant_id)) return true;
  const filter = await authorize(principal, "assistants", "read", { assistant_id });
  return !filter || containsJson(metadata, filter);
}

/** The assistant of this id, or the default one of this graph; 404 when there is none that the principal may use. */
export async function assistantOf(env: Env, principal: Principal, idOrGraphId: string): Promise<Assistant> {
  const assistant = await assistantToRun(database(env.DB), principal.workspaceId, idOrGraphId);
  if (!assistant || !(await mayUse(principal, assistant)))
    throw new Problem(
      404,
      `No assistant found for "${idOrGraphId}". Make sure it is the id of an assistant, or of a deployed graph.`,
    );
  return assistant;
}

/** The value, or a 404 that names it. */
export function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Problem(404, `${what} not found.`);
  return value;
}

/** From a request to the thread and the assistant it names, within the caller's workspace. */
import { isDefaultAssistant } from "../../agents/assistants/defaults.ts";
import { type Assistant, assistantToRun } from "../../agents/assistants/store.ts";
import type { Principal } from "../../http/principal.ts";
import { database } from "../../db/client.ts";
import { Problem } from "../../lib/problem.ts";
import { authorize, containsJson } from "../../access/users/handlers.ts";
import type { Json } from "../../lib/json.ts";
import type { ResponseChannel } from "../types.ts";
import type { ThreadRpc } from "../rpc.ts";
import { threadStub } from "../remote.ts";

interface AccessContext {
  env: Env;
  get(name: "principal"): Principal;
}

/** The thread of the caller's workspace. Another workspace's id leads to a thread that does not exist. */
export function openThread(c: AccessContext, threadId: string): ThreadRpc {
  return threadStub(c.env, c.get("principal").workspaceId, threadId);
}

/**
 * The caller of a run. `configurable`: what graphs may read of the request's headers, and of its user. `via`: the surface that is
 * called; left out, the Agent Server's.
 */
export interface ThreadCaller {
  env: Env;
  principal: Principal;
  configurable: Json;
  via?: ResponseChannel;
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
export async function requireAssistant(env: Env, principal: Principal, idOrGraphId: string): Promise<Assistant> {
  const assistant = await assistantToRun(database(env.DB), principal.workspaceId, idOrGraphId);
  if (!assistant || !(await mayUse(principal, assistant)))
    throw new Problem(
      404,
      `No assistant found for "${idOrGraphId}". Make sure it is the id of an assistant, or of a deployed graph.`,
    );
  return assistant;
}

/** The value, or a 404 that names it. */
export function requireFound<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Problem(404, `${what} not found.`);
  return value;
}

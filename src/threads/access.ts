/** From a request to the thread and the assistant it names, within the caller's workspace. */
import { type Assistant, assistantToRun } from "../assistants/store.ts";
import type { Principal } from "../auth/principal.ts";
import { database } from "../db/client.ts";
import { Problem } from "../http/problem.ts";
import { type ThreadRpc, threadStub } from "./rpc.ts";

interface Call {
  env: Env;
  get(name: "principal"): Principal;
}

/** The thread of the caller's workspace. Another workspace's id leads to a thread that does not exist. */
export function threadOf(c: Call, threadId: string): ThreadRpc {
  return threadStub(c.env, c.get("principal").workspaceId, threadId);
}

/** The assistant of this id, or the default one of this graph; 404 when there is none. */
export async function assistantOf(c: Call, idOrGraphId: string): Promise<Assistant> {
  const assistant = await assistantToRun(database(c.env.DB), c.get("principal").workspaceId, idOrGraphId);
  if (!assistant)
    throw new Problem(
      404,
      `No assistant found for "${idOrGraphId}". Make sure it is the id of an assistant, or of a deployed graph.`,
    );
  return assistant;
}

/** What was looked for, or a 404 that names it. */
export function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Problem(404, `${what} not found.`);
  return value;
}

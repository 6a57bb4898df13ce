/** How to reach a thread, and how to read what it streams. */
import { objectNamed } from "../lib/rpc.ts";
import { keysFor } from "../access/encryption/keys.ts";
import { callObject } from "../lib/rpc.ts";
import type { Json } from "../lib/json.ts";
import { objectName } from "./thread-id.ts";
import { readLines } from "./log/events.ts";
import { RemoteThread } from "./remote.ts";
import { sleepOn } from "./remote/sleep.ts";
import type { ThreadRpc } from "./rpc.ts";
import type { ThreadState } from "./types.ts";

/** Reads the one object that a stream holds. */
export async function readJson(stream: ReadableStream<Uint8Array>): Promise<Json> {
  return new Response(stream).json();
}

/** Reads the states out of a history. */
export async function* readStates(stream: ReadableStream<Uint8Array>): AsyncGenerator<ThreadState, void, void> {
  const read = readLines<ThreadState>();
  for await (const bytes of stream) yield* read(bytes);
}

/** The thread of this workspace with this id. It may not exist. Calls survive restarts of its object (remote/remote.ts). */
export function threadStub(env: Env, workspaceId: string, threadId: string): ThreadRpc {
  const object = () => threadObject(env, workspaceId, threadId);
  return new RemoteThread(
    () => callObject<ThreadRpc>(object(), keysFor(env, workspaceId)),
    (after) => sleepOn(object(), after),
  );
}

/** The stub of the Durable Object itself. */
export function threadObject(env: Env, workspaceId: string, threadId: string): ReturnType<Env["THREAD"]["get"]> {
  return objectNamed(env, env.THREAD, objectName(workspaceId, threadId));
}

/** The RPC methods of a thread that only the streaming protocol uses. */
import { keysFor } from "../access/encryption/keys.ts";
import { callObject } from "../lib/rpc.ts";
import { retry } from "../lib/retry.ts";
import { placeInFrames } from "../threads/resume.ts";
import { resumeBytes } from "../threads/resume.ts";
import { sleepOn } from "../threads/log/sleepers.ts";
import type { ThreadRpc } from "../threads/rpc.ts";
import { threadObject } from "../threads/remote.ts";
import type { Dialect } from "./dialect.ts";
import type { Filter } from "../protocols/streaming/schema.ts";

interface StreamingRpc extends Pick<ThreadRpc, "hasEvent"> {
  streamEvents(filter: Filter, after: number, dialect: Dialect): Promise<ReadableStream<Uint8Array>>;
}

/**
 * SSE frames of what the filter picks after a sequence number: replayed, then live. They never end by themselves, and
 * continue where a restart of the object cuts them.
 */
export async function streamEvents(
  env: Env,
  workspaceId: string,
  threadId: string,
  filter: Filter,
  after: number,
  dialect: Dialect,
): Promise<ReadableStream<Uint8Array>> {
  const object = () => threadObject(env, workspaceId, threadId);
  const thread = () => callObject<StreamingRpc>(object(), keysFor(env, workspaceId));
  const open = async (last = after) => thread().streamEvents(filter, last, dialect);
  const place = placeInFrames({ open, has: (seq) => thread().hasEvent(seq) });
  return resumeBytes(await retry(() => open()), place, (seen) => sleepOn(object(), seen));
}

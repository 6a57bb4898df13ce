/** What the streaming protocol asks of a thread besides what threads answer themselves. */
import type { ThreadRpc } from "../threads/rpc.ts";
import { threadObject } from "../threads/rpc.ts";
import type { Filter } from "./schema.ts";

export interface StreamingRpc extends ThreadRpc {
  /** SSE frames of what the filter picks after a sequence number: replayed, then live. Never ends by itself. */
  streamEvents(filter: Filter, after: number): Promise<ReadableStream<Uint8Array>>;
}

/** The thread of this workspace with this id, which need not exist. */
export function streamingStub(env: Env, workspaceId: string, threadId: string): StreamingRpc {
  return threadObject(env, workspaceId, threadId);
}

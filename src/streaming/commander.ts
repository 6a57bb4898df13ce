/** The input of a command, and its result. */
import type { Caller } from "../threads/api/access.ts";
import type { Json } from "../lib/json.ts";
import type { ThreadRpc } from "../threads/rpc.ts";

export interface Commander extends Caller {
  threadId: string;
  thread: ThreadRpc;
}

export interface Answer {
  result: Json;
  meta?: Json;
}

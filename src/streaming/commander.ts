/** What a command needs to be carried out, and what comes of it. */
import type { Principal } from "../auth/principal.ts";
import type { Json, ThreadRpc } from "../threads/rpc.ts";

/** Who commands, and which thread. */
export interface Commander {
  env: Env;
  principal: Principal;
  threadId: string;
  thread: ThreadRpc;
  /** Of the request's headers, what graphs may read. */
  configurable: Json;
}

export interface Answer {
  result: Json;
  meta?: Json;
}

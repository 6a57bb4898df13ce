/** The context of every route: the Worker's bindings, and the caller. */
import type { Principal } from "../principal.ts";

export interface App {
  Bindings: Env;
  /**
   * `threadId`: the id of the thread that the path names in another way. `serverFault`: the answer has the status 200 and
   * says that the server failed, as JSON-RPC does.
   */
  Variables: { principal: Principal; threadId?: string; serverFault?: boolean };
}

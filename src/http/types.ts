/** The context of every route: the Worker's bindings, and the caller. */
import type { Principal } from "../principal.ts";

export interface App {
  Bindings: Env;
  /** `threadId`: the id of the thread that the path names in another way. */
  Variables: { principal: Principal; threadId?: string };
}

/** What every route can reach: the Worker's bindings, and who is calling. */
import type { Principal } from "../principal.ts";

export interface App {
  Bindings: Env;
  /** `threadId`: the id of the thread that the path names in another way. */
  Variables: { principal: Principal; threadId?: string };
}

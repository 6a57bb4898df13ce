/** What every route can reach: the Worker's bindings, and who is calling. */
import type { Principal } from "../auth/principal.ts";

export interface App {
  Bindings: Env;
  Variables: { principal: Principal };
}

/** Weir as `wrangler dev` serves it: behind wrangler's proxy, a second workerd. */
import { asDeployed, startKillable } from "../../support/server.ts";
import { running, type Server } from "./server.ts";

export async function startWrangler(): Promise<Server> {
  const server = await startKillable({ OFFLINE_MODEL_DELAY_MS: "0" }, { config: asDeployed() });
  const { persistTo, pid } = server;
  return {
    ...running({ ...server, pid }),
    name: "Weir, wrangler dev",
    persistTo,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

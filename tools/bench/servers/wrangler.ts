/** Weir as `wrangler dev` serves it: behind wrangler's proxy, a second workerd. */
import { writeDeployedConfig, startKillable } from "../../../test/support/server.ts";
import { connectServer, type Server } from "./server.ts";

export async function startWrangler(): Promise<Server> {
  const server = await startKillable({ OFFLINE_MODEL_DELAY_MS: "0" }, { config: writeDeployedConfig() });
  const { persistTo, pid } = server;
  return {
    ...connectServer({ ...server, pid }),
    name: "Weir, wrangler dev",
    persistTo,
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

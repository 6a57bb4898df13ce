/** Weir as `wrangler dev` serves it: behind wrangler's proxy, a second workerd. */
import { startKillable } from "../../support/server.ts";
import { running, type Server } from "./server.ts";

export async function startWrangler(): Promise<Server> {
  const server = await startKillable({ OFFLINE_MODEL_DELAY_MS: "0" });
  const { persistTo, pid } = server;
  return { ...running({ ...server, pid }), name: "Weir, wrangler dev", persistTo, stop: () => server.stop() };
}

/** What goes wrong around clients that work. Faults of one message, store or receiver are in the engines that use it. */
import { abortAllDurableObjects, runDurableObjectAlarm } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Random } from "../support/random.ts";
import { pause } from "../support/aborts.ts";
import type { Client } from "./world.ts";

type Fault = (clients: Client[], random: Random) => Promise<void>;

/** A thread that a client works on. */
function someThread(clients: Client[], random: Random) {
  const client = clients[random.between(0, clients.length)];
  const thread = client?.threads[random.between(0, client.threads.length)];
  return thread === undefined ? undefined : env.THREAD.getByName(`${client?.workspaceId}:${thread}`);
}

export const faults: Record<string, Fault> = {
  /** As at a deploy. */
  restart: () => abortAllDurableObjects(),

  /** A restart that meets the work of the one before. */
  async restarts(_, random) {
    for (let i = 0; i < 3; i += 1) {
      await abortAllDurableObjects();
      await pause(random.between(0, 100));
    }
  },

  /** An alarm that comes early, and again. */
  async alarms(clients, random) {
    for (let i = 0; i < 10; i += 1) {
      const thread = someThread(clients, random);
      // A restart ends the alarm's call, too.
      if (thread) await runDurableObjectAlarm(thread).catch(() => undefined);
    }
  },
};

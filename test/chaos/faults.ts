/** What goes wrong around clients that work. Faults of one message, store or receiver are in the engines that use it. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Random } from "../support/random.ts";
import { pause } from "../support/aborts.ts";
import { readOffset, jump } from "../support/clock.ts";
import { failStorage } from "../support/failing-storage.ts";
import type { Client } from "./world.ts";

type Fault = (clients: Client[], random: Random) => Promise<void>;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** The clock stays within this of the machine's: traces of the beginning must not expire. */
const MOST_AHEAD = 9 * 24 * HOUR;

/** A thread that a client works on. */
function someThread(clients: Client[], random: Random) {
  const client = clients[random.between(0, clients.length)];
  const thread = client?.threads[random.between(0, client.threads.length)];
  return thread === undefined ? undefined : env.THREAD.getByName(`${client?.workspaceId}:${thread}`);
}

/** The storage of an object that is not used. */
export async function anyStorage<T>(use: (storage: DurableObjectStorage) => T): Promise<T> {
  return runInDurableObject(env.THREAD.getByName("none:none"), (_, { storage }) => use(storage));
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

  /** Objects whose writes fail now and then. */
  async objects(_, random) {
    const restore = await anyStorage(({ sql }) => failStorage(sql, { object: () => random.next() < 0.1 }));
    await pause(random.between(100, 500));
    restore();
  },

  /** D1 that refuses calls now and then, or carries them out and loses the answer. */
  async database(_, random) {
    const failing = { d1: () => random.next() < 0.05, d1Answer: () => random.next() < 0.02 };
    const restore = await anyStorage(({ sql }) => failStorage(sql, failing));
    await pause(random.between(100, 500));
    restore();
  },

  /** A clock that is set: forwards by seconds to hours, backwards by seconds. */
  async clock(_, random) {
    const luck = random.next();
    if (luck < 0.3) return jump(-random.between(1, 5 * SECOND));
    if (readOffset() > MOST_AHEAD) return;
    const [low, high] = luck < 0.8 ? [SECOND, 2 * MINUTE] : luck < 0.95 ? [2 * MINUTE, HOUR] : [HOUR, 3 * HOUR];
    jump(random.between(low, high));
  },
};

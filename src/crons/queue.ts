/** The consumer of the queue of crons: one message, one firing to work on. */
import * as v from "valibot";
import { database } from "../db/client.ts";
import { logError } from "../http/log.ts";
import { inParallel } from "../http/parallel.ts";
import { work } from "./fire.ts";
import { threadsOf } from "./start.ts";
import type { Firing } from "./store.ts";

/** Firings worked on at a time: each has its cron's payload, up to 1 MiB, in memory. */
const AT_ONCE = 5;

const FiringShape = v.strictObject({ workspaceId: v.string(), cronId: v.string(), due: v.number() });

/** Whether a message is one of crons, whatever the queue's name. */
export const isFiring = (message: Message): message is Message<Firing> => v.is(FiringShape, message.body);

/** Each message by itself: one that fails comes again, and holds up no other. */
export async function workCrons(messages: Message<Firing>[], env: Env): Promise<void> {
  const db = database(env.DB);
  const threads = threadsOf(env);
  await inParallel(messages, AT_ONCE, async (message) => {
    try {
      await work(db, message.body, threads, Date.now());
      message.ack();
    } catch (error) {
      logError(error, { firing: message.body });
      message.retry();
    }
  });
}

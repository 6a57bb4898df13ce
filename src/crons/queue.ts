/** Consumes queue messages of crons. One message is one firing. */
import * as v from "valibot";
import { database } from "../db/client.ts";
import { logError } from "../lib/log.ts";
import { inParallel } from "../lib/parallel.ts";
import { startFiring } from "../automation/crons/fire.ts";
import { threadsFor } from "./start.ts";
import type { Firing } from "../automation/crons/store.ts";

/** Concurrent firings. Each loads its cron's payload of up to 1 MiB. */
const AT_ONCE = 5;

const FiringShape = v.strictObject({ workspaceId: v.string(), cronId: v.string(), due: v.number() });

/** True for a message of crons. The queue's name does not matter. */
export const isFiring = (message: Message): message is Message<Firing> => v.is(FiringShape, message.body);

/** Handles each message separately. A message that fails is retried; the others are not affected. */
export async function workCrons(messages: Message<Firing>[], env: Env): Promise<void> {
  const db = database(env.DB);
  const threads = threadsFor(env);
  await inParallel(messages, AT_ONCE, async (message) => {
    try {
      await startFiring(db, message.body, threads, Date.now());
      message.ack();
    } catch (error) {
      logError(error, { firing: message.body });
      message.retry();
    }
  });
}

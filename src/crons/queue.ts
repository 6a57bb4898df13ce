/** The consumer of the queue `weir-crons`: one message, one firing to work on. */
import { database } from "../db/client.ts";
import { logError } from "../http/log.ts";
import { work } from "./fire.ts";
import { threadsOf } from "./start.ts";
import type { Firing } from "./store.ts";

/** Each message by itself: one that fails comes again, and holds up no other. */
export async function workCrons(batch: MessageBatch, env: Env): Promise<void> {
  const db = database(env.DB);
  const threads = threadsOf(env);
  await Promise.all(
    batch.messages.map(async (message) => {
      try {
        await work(db, message.body as Firing, threads, Date.now());
        message.ack();
      } catch (error) {
        logError(error, { firing: message.body });
        message.retry();
      }
    }),
  );
}

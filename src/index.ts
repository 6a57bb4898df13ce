/** The Worker: fetch, queue, scheduled and the Durable Object classes. Wiring only. */
import { app } from "./app.ts";
import { tick } from "./crons/fire.ts";
import { isFiring, workCrons } from "./crons/queue.ts";
import { schedule } from "./exports/schedule.ts";
import { isWake, work } from "./exports/work.ts";
import { logError } from "./http/log.ts";
import { allOf } from "./http/parallel.ts";
import { housekeeping } from "./system/housekeeping.ts";

export { StreamingThread as Thread } from "./streaming/socket.ts";
export { TracePartition } from "./traces/partition.ts";

export default {
  fetch: app.fetch,
  /** A message's shape says what it is for, so that a deployment may name its queues as it likes. */
  async queue({ queue, messages }, env) {
    for (const message of messages.filter((one) => !isFiring(one) && !isWake(one))) {
      logError("A message of no known shape is dropped.", { queue, message: message.id });
      message.ack();
    }
    await allOf({
      crons: () => workCrons(messages.filter(isFiring), env),
      exports: () => work(messages.filter(isWake), env),
    });
  },
  /**
   * Each part does its work whatever becomes of the others. The platform does not repeat an invocation that failed: it shows
   * it among the cron events, and the next minute does what is left.
   */
  async scheduled({ scheduledTime: now }, env) {
    await allOf({
      crons: () => tick(env, now),
      exports: () => schedule(env),
      housekeeping: () => housekeeping(env, now),
    });
  },
} satisfies ExportedHandler<Env>;

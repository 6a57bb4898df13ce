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
export { ThreadIndex } from "./threads/search/object.ts";
export { TracePartition } from "./traces/partition.ts";

export default {
  fetch: app.fetch,
  /** Dispatches messages by their shape, so that queues may have any name. */
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
   * The three tasks are independent. A failure makes the invocation fail, so that it is visible in the cron events. The
   * platform does not retry it; the next minute repeats the work.
   */
  async scheduled({ scheduledTime: now }, env) {
    await allOf({
      crons: () => tick(env, now),
      exports: () => schedule(env),
      housekeeping: () => housekeeping(env, now),
    });
  },
} satisfies ExportedHandler<Env>;

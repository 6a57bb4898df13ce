/** The Worker: fetch, queue, scheduled and the Durable Object classes. Wiring only. */
import { app } from "./app.ts";
import { tick } from "./crons/fire.ts";
import { workCrons } from "./crons/queue.ts";
import type { Wake } from "./exports/deps.ts";
import { schedule } from "./exports/schedule.ts";
import { work } from "./exports/work.ts";
import { housekeeping } from "./system/housekeeping.ts";

export { StreamingThread as Thread } from "./streaming/socket.ts";
export { ThreadIndex } from "./threads/search/object.ts";
export { TracePartition } from "./traces/partition.ts";

export default {
  fetch: app.fetch,
  async queue(batch, env) {
    if (batch.queue === "weir-crons") await workCrons(batch, env);
    else await work(batch as MessageBatch<Wake>, env);
  },
  async scheduled({ scheduledTime: now }, env) {
    await Promise.all([tick(env, now), schedule(env), housekeeping(env, now)]);
  },
} satisfies ExportedHandler<Env>;

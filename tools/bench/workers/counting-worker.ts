/**
 * The bench's Worker, which also counts what the platform bills. Counting takes time, so processor time is measured on a
 * server without it. `GET /bench/counts?soon=…` gives the counts since the start, and whether an object works or does so in that many
 * milliseconds, `GET /bench/size?thread=…` or `?partition=…` the
 * bytes of an object's database, and `POST /bench/tick` does what the cron trigger does each minute.
 */
import worker, {
  Ledger as OwnLedger,
  Limiter as OwnLimiter,
  Thread as OwnThread,
  ThreadIndex as OwnIndex,
  TraceIndex as OwnTraceIndex,
  TracePartition as OwnPartition,
} from "./bench-worker.ts";
import { countBindings } from "./counting/bindings.ts";
import { count, snapshot } from "./counting/counts.ts";
import { countMethods } from "./counting/methods.ts";
import { countStorage } from "./counting/storage.ts";

for (const level of ["log", "info", "warn", "error"] as const) {
  const original = console[level];
  console[level] = (...args: unknown[]) => {
    count("log lines");
    original(...args);
  };
}

export class Thread extends OwnThread {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countStorage(ctx, "Thread"), countBindings(env));
  }

  async size(): Promise<number> {
    return this.ctx.storage.sql.databaseSize;
  }
}

export class Ledger extends OwnLedger {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countStorage(ctx, "Ledger"), countBindings(env));
  }
}

export class Limiter extends OwnLimiter {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countStorage(ctx, "Limiter"), countBindings(env));
  }
}

export class ThreadIndex extends OwnIndex {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countStorage(ctx, "ThreadIndex"), countBindings(env));
  }
}

export class TraceIndex extends OwnTraceIndex {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countStorage(ctx, "TraceIndex"), countBindings(env));
  }
}

export class TracePartition extends OwnPartition {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countStorage(ctx, "TracePartition"), countBindings(env));
  }

  async size(): Promise<number> {
    return this.ctx.storage.sql.databaseSize;
  }
}

countMethods(Thread, "Thread");
countMethods(Ledger, "Ledger");
countMethods(Limiter, "Limiter");
countMethods(ThreadIndex, "ThreadIndex");
countMethods(TraceIndex, "TraceIndex");
countMethods(TracePartition, "TracePartition");

interface Sized {
  size(): Promise<number>;
}

/** Not counted: these calls are the bench's own. */
async function benchRoute({ url }: Request, env: Env): Promise<Response | undefined> {
  const { pathname, searchParams } = new URL(url);
  if (pathname === "/bench/counts") return Response.json(snapshot(Number(searchParams.get("soon"))));
  if (pathname === "/bench/size") {
    const thread = searchParams.get("thread");
    const partition = searchParams.get("partition") ?? "";
    const object = thread ? env.THREAD.getByName(thread) : env.TRACE_PARTITION.getByName(partition);
    return Response.json(await (object as unknown as Sized).size());
  }
  if (pathname !== "/bench/tick") return undefined;
  count("requests");
  const controller = { scheduledTime: Date.now(), cron: "* * * * *", noRetry: () => undefined };
  await worker.scheduled(controller, countBindings(env));
  return new Response("done\n");
}

export default {
  async fetch(request, env, ctx): Promise<Response> {
    const own = await benchRoute(request, env);
    if (own) return own;
    count("requests");
    return worker.fetch(request, countBindings(env), ctx);
  },
  async queue(batch, env): Promise<void> {
    count("batches");
    await worker.queue(batch, countBindings(env));
  },
  async scheduled(controller, env): Promise<void> {
    await worker.scheduled(controller, countBindings(env));
  },
} satisfies ExportedHandler<Env>;

/**
 * The bench's Worker, which also counts what the platform bills: `GET /bench/counts` gives the counts since the start.
 * Counting takes time, so processor time is measured on a server without it.
 */
import worker, { Thread as OwnThread, TracePartition as OwnPartition } from "./bench-worker.ts";
import { countBindings } from "./counting/bindings.ts";
import { active, count, snapshot } from "./counting/counts.ts";
import { countStorage } from "./counting/storage.ts";

for (const level of ["log", "info", "warn", "error"] as const) {
  const original = console[level];
  console[level] = (...args: unknown[]) => {
    count("logs");
    original(...args);
  };
}

export class Thread extends OwnThread {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countStorage(ctx, "Thread"), countBindings(env));
  }

  override async alarm(): Promise<void> {
    count("alarms run: Thread");
    const close = active("Thread", this.ctx.id.toString());
    await super.alarm().finally(close);
  }
}

export class TracePartition extends OwnPartition {
  constructor(ctx: DurableObjectState, env: Env) {
    super(countStorage(ctx, "TracePartition"), countBindings(env));
  }

  override async alarm(): Promise<void> {
    count("alarms run: TracePartition");
    const close = active("TracePartition", this.ctx.id.toString());
    await super.alarm().finally(close);
  }
}

export default {
  async fetch(request, env, ctx): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === "/bench/counts") return Response.json(snapshot());
    count("requests");
    return worker.fetch(request, countBindings(env), ctx);
  },
  async queue(batch, env): Promise<void> {
    await worker.queue(batch, countBindings(env));
  },
  async scheduled(controller, env): Promise<void> {
    await worker.scheduled(controller, countBindings(env));
  },
} satisfies ExportedHandler<Env>;

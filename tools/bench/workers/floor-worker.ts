/**
 * The least that a run can cost on this platform: the routes of a run, a Durable Object for each thread, and LangGraph, without
 * validation, keys, checkpoints, a log, an index or traces. The bench `floor` measures Weir beside it.
 */
import { DurableObject } from "cloudflare:workers";
import { echo } from "../../../examples/demo/src/echo.ts";
import { sseFrame } from "../../../src/http/sse.ts";
import { toWireJson } from "../../../src/runtime/wire.ts";

const MODES = ["values", "updates"] as const;

export class Thread extends DurableObject<Env> {
  /** Makes the thread: a table and a row. */
  async make(): Promise<void> {
    this.ctx.storage.sql.exec("CREATE TABLE runs (id TEXT PRIMARY KEY, request TEXT) WITHOUT ROWID");
    this.ctx.storage.sql.exec("INSERT INTO runs VALUES ('', '')");
  }

  /** Writes the run, then streams its graph as SSE. */
  async run(id: string, request: string): Promise<ReadableStream<Uint8Array>> {
    this.ctx.storage.sql.exec("INSERT INTO runs VALUES (?, ?)", id, request);
    const { input } = JSON.parse(request) as { input: Parameters<typeof echo.stream>[0] };
    const encoder = new TextEncoder();
    const frame = (event: string, data: string) => encoder.encode(sseFrame({ event, data }));
    const events = echo.stream(input, { streamMode: [...MODES] });
    return new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(frame("metadata", JSON.stringify({ run_id: id })));
        for await (const [mode, chunk] of await events) controller.enqueue(frame(mode, toWireJson(chunk)));
        controller.close();
      },
    });
  }
}

/** wrangler.toml binds these classes. */
export class Ledger extends DurableObject<Env> {}
export class Limiter extends DurableObject<Env> {}
export class ThreadIndex extends DurableObject<Env> {}
export class TraceIndex extends DurableObject<Env> {}
export class TracePartition extends DurableObject<Env> {}

export default {
  async fetch(request, env): Promise<Response> {
    const { pathname } = new URL(request.url);
    const [, noun, thread = "", , run] = pathname.split("/");
    const stub = (id: string) => env.THREAD.getByName(id) as unknown as Thread;
    if (pathname === "/threads") {
      const thread_id = crypto.randomUUID();
      await stub(thread_id).make();
      return Response.json({ thread_id });
    }
    if (noun === "threads" && run === "stream") {
      const run_id = crypto.randomUUID();
      const frames = await stub(thread).run(run_id, await request.text());
      const path = `/threads/${thread}/runs/${run_id}`;
      return new Response(frames, { headers: { "content-type": "text/event-stream", "content-location": path } });
    }
    // What the bench requests at its start, and what the client reads at the end of a stream.
    return Response.json({ id: "floor", key: "floor", run_id: run, status: "success" });
  },
} satisfies ExportedHandler<Env>;

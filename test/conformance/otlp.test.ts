/** OpenTelemetry: the stock exporters, and the LangSmith SDK's bridge to it. */
import { context, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from "@opentelemetry/sdk-trace-base";
import { Client } from "langsmith";
import { initializeOTEL } from "langsmith/experimental/otel/setup";
import { traceable } from "langsmith/traceable";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server.stop());

interface Run {
  id: string;
  name: string;
  run_type: string;
  parent_run_id: string | null;
  parent_run_ids: string[];
  trace_id: string;
  dotted_order: string;
  status: string;
}

async function listRuns(project: string): Promise<Run[]> {
  const client = new Client({ apiUrl: server.url, apiKey: server.key });
  const runs: Run[] = [];
  for await (const run of client.listRuns({ projectName: project, order: "asc" })) runs.push(run as unknown as Run);
  return runs.sort((a, b) => (a.dotted_order < b.dotted_order ? -1 : 1));
}

/** An agent with a model call and a failing tool; the children end, and are exported, before it. */
async function sendSpans(exporter: SpanExporter): Promise<void> {
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ "service.name": "shop" }),
    spanProcessors: [new BatchSpanProcessor(exporter, { maxExportBatchSize: 1 })],
  });
  const tracer: Tracer = provider.getTracer("test");
  const began = Date.now();
  const root = tracer.startSpan("agent", {
    startTime: began,
    attributes: { "traceloop.span.kind": "workflow", "service.metadata.thread_id": "t-9", "input.value": '{"q":1}' },
  });
  const below = trace.setSpan(context.active(), root);
  const attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.system": "openai",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.request.temperature": 0.5,
    "gen_ai.usage.input_tokens": 10,
    "gen_ai.usage.output_tokens": 5,
    "gen_ai.prompt.0.role": "user",
    "gen_ai.prompt.0.content": "hello",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "hi there",
  };
  tracer.startSpan("chat gpt-4o", { startTime: began + 1, attributes }, below).end(began + 2);
  const tool = tracer.startSpan(
    "tool",
    { startTime: began + 3, attributes: { "gen_ai.tool.name": "search", tool_arguments: '{"x":1}' } },
    below,
  );
  tool.recordException(new Error("boom"));
  tool.setStatus({ code: SpanStatusCode.OK });
  tool.end(began + 4);
  root.setAttribute("output.value", "done");
  root.end(began + 5);
  await provider.shutdown();
}

describe("the stock exporters", () => {
  it.each([
    ["protobuf", (url: string, headers: Record<string, string>) => new ProtobufExporter({ url, headers })],
    ["json", (url: string, headers: Record<string, string>) => new JsonExporter({ url, headers })],
  ])("send a tree over %s", async (name, exporter) => {
    const project = `otel ${name}`;
    const path = name === "json" ? "/otel/v1/traces" : "/api/v1/otel/v1/traces";
    await sendSpans(exporter(server.url + path, { ...server.headers, "langsmith-project": project }));
    const runs = await listRuns(project);
    const [root, chat, tool] = runs as [Run, Run, Run];
    expect(runs).toMatchObject([
      {
        name: "agent",
        run_type: "chain",
        parent_run_id: null,
        status: "success",
        inputs: { q: 1 },
        outputs: { output: "done" },
        total_tokens: 15,
        extra: { metadata: { thread_id: "t-9", "service.name": "shop" } },
      },
      {
        name: "chat gpt-4o",
        run_type: "llm",
        status: "success",
        inputs: { messages: [{ role: "user", content: "hello" }] },
        outputs: { messages: [{ role: "assistant", content: "hi there" }] },
        total_tokens: 15,
        total_cost: "0.000075",
        extra: {
          metadata: { ls_provider: "openai", ls_model_name: "gpt-4o" },
          invocation_params: { model: "gpt-4o", temperature: 0.5 },
        },
      },
      { name: "search", run_type: "tool", status: "error", error: expect.stringContaining("boom"), inputs: { x: 1 } },
    ]);
    expect(root.id).toMatch(/^00000000-0000-0000-/);
    for (const child of [chat, tool]) {
      expect(child).toMatchObject({ parent_run_id: root.id, parent_run_ids: [root.id], trace_id: root.trace_id });
      expect(child.dotted_order.startsWith(`${root.dotted_order}.`)).toBe(true);
    }
  });

  it("are answered with the reason", async () => {
    const send = (body: BodyInit, type: string) =>
      fetch(`${server.url}/otel/v1/traces`, {
        method: "POST",
        body,
        headers: { ...server.headers, "content-type": type },
      });
    const protobuf = "application/x-protobuf";
    expect((await send(Uint8Array.from([0x0a, 0xff, 1]), protobuf)).status).toBe(400);
    expect((await send("{", "application/json")).status).toBe(400);
    expect((await send("{}", "application/json")).status).toBe(400);
    expect((await send("", "text/plain")).status).toBe(415);
    expect((await send("", protobuf)).status).toBe(200);
    const odd = {
      resourceSpans: [null, {}, { scopeSpans: [{ spans: [1, {}, { traceId: "zz", spanId: 5, attributes: {} }] }] }],
    };
    const answered = await send(JSON.stringify(odd), "application/json");
    expect(await answered.json()).toMatchObject({ partialSuccess: { rejectedSpans: "2" } });
  });
});

describe("the LangSmith SDK through OpenTelemetry", () => {
  it("gives the same tree as it would itself", async () => {
    const env = {
      LANGSMITH_TRACING: "true",
      LANGSMITH_OTEL_ENABLED: "true",
      LANGSMITH_ENDPOINT: server.url,
      LANGSMITH_API_KEY: server.key,
      LANGSMITH_PROJECT: "bridge",
    };
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
    const { DEFAULT_LANGSMITH_SPAN_PROCESSOR: processor } = initializeOTEL();
    const model = traceable(
      async (name: string) => ({
        role: "assistant",
        content: `hi ${name}`,
        usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 },
      }),
      { name: "model", run_type: "llm", metadata: { ls_provider: "openai" } },
    );
    const tool = traceable(
      async () => {
        throw new Error("boom");
      },
      { name: "tool", run_type: "tool" },
    );
    const chain = traceable(
      async (input: { name: string }) => {
        await tool().catch(() => undefined);
        return { answer: (await model(input.name)).content };
      },
      { name: "chain", tags: ["a", "b"], metadata: { thread_id: "t-1" } },
    );
    await chain({ name: "bob" });
    await processor.shutdown();
    const runs = await listRuns("bridge");
    const root = runs[0] as Run;
    expect(runs).toMatchObject([
      {
        name: "chain",
        run_type: "chain",
        status: "success",
        inputs: { name: "bob" },
        outputs: { answer: "hi bob" },
        tags: ["a", "b"],
        total_tokens: 7,
        parent_run_id: null,
      },
      {
        name: "tool",
        run_type: "tool",
        status: "error",
        error: expect.stringContaining("boom"),
        parent_run_id: root.id,
      },
      {
        name: "model",
        run_type: "llm",
        status: "success",
        outputs: { content: "hi bob" },
        total_tokens: 7,
        parent_run_id: root.id,
      },
    ]);
    expect(root).toMatchObject({ extra: { metadata: { thread_id: "t-1" } } });
    expect(new Set(runs.map(({ trace_id }) => trace_id)).size).toBe(1);
    vi.unstubAllEnvs();
  });
});

/** The unmodified LangSmith client: traces it sends, and reads back. */
import { createServer, type Server } from "node:http";
import { Client, type RunTree } from "langsmith";
import { traceable } from "langsmith/traceable";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

let server: TestServer;
beforeAll(async () => {
  vi.stubEnv("LANGSMITH_TRACING", "true");
  server = await sharedServer();
});
afterAll(() => server.stop());

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0xff, 0xfe, 0x00]);
const USAGE = { input_tokens: 11, output_tokens: 7, total_tokens: 18, input_token_details: { cache_read: 3 } };

interface Trace {
  client: Client;
  project: string;
  rootId: string;
}

function clientFor(project: string, options: ConstructorParameters<typeof Client>[0] & { url?: string } = {}) {
  const { url = server.url, ...more } = options;
  return { client: new Client({ apiUrl: url, apiKey: server.key, ...more }), project };
}

/** A chain with a model call and a failing tool below it. */
async function sendTrace({ client, project }: { client: Client; project: string }): Promise<Trace> {
  let rootId = "";
  const common = { client, project_name: project, tracingEnabled: true };
  const model = traceable(
    async (name: string) => ({ role: "assistant", content: `hi ${name}`, usage_metadata: USAGE }),
    {
      ...common,
      name: "model",
      run_type: "llm",
      metadata: { ls_provider: "openai", ls_model_name: "gpt-4o" },
      tags: ["inner"],
    },
  );
  const tool = traceable(
    async (_input: { x: number }) => {
      throw new Error("boom");
    },
    { ...common, name: "bad-tool", run_type: "tool" },
  );
  const chain = traceable(
    async (input: { name: string }) => {
      const answer = await model(input.name);
      await tool({ x: 1 }).catch(() => undefined);
      return { answer: answer.content };
    },
    {
      ...common,
      name: "chain",
      tags: ["outer"],
      metadata: { thread_id: "t-1", user_id: "u1" },
      extractAttachments: (input: { name: string }) => [{ picture: ["image/png", PNG] }, input],
      on_end: (run: RunTree) => (rootId = run.id),
    },
  );
  await chain({ name: "bob" });
  await client.awaitPendingTraceBatches();
  return { client, project, rootId };
}

async function collectAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function expectTree({ client, project, rootId }: Trace) {
  const runs = await collectAll(client.listRuns({ projectName: project, order: "asc" }));
  expect(runs.map(({ name }) => name)).toEqual(["chain", "model", "bad-tool"]);
  const root = await client.readRun(rootId, { loadChildRuns: true });
  expect(root).toMatchObject({
    id: rootId,
    name: "chain",
    run_type: "chain",
    status: "success",
    inputs: { name: "bob" },
    outputs: { answer: "hi bob" },
    tags: ["outer"],
    total_tokens: 18,
    prompt_tokens: 11,
    completion_tokens: 7,
    parent_run_id: null,
    trace_id: rootId,
  });
  expect(root.extra?.metadata).toMatchObject({ thread_id: "t-1", user_id: "u1" });
  expect(root.child_runs).toMatchObject([
    {
      name: "model",
      run_type: "llm",
      parent_run_id: rootId,
      outputs: { content: "hi bob" },
      total_tokens: 18,
      status: "success",
    },
    { name: "bad-tool", run_type: "tool", status: "error", error: expect.stringContaining("boom"), inputs: { x: 1 } },
  ]);
  expect(root.child_run_ids).toHaveLength(2);
  return root;
}

describe("traces from the client", () => {
  it.each([
    ["multipart and gzip", {}, "/api/v1"],
    ["multipart without gzip, at the root", { LANGSMITH_DISABLE_RUN_COMPRESSION: "true" }, ""],
    ["one call for each run", { autoBatchTracing: false }, "/api/v1"],
  ])("are returned as sent: %s", async (name, options, base) => {
    const disabled = "LANGSMITH_DISABLE_RUN_COMPRESSION" in options;
    vi.stubEnv("LANGSMITH_DISABLE_RUN_COMPRESSION", disabled ? "true" : undefined);
    const clientOptions = disabled ? {} : options;
    const trace = await sendTrace(clientFor(`p ${name}`, { ...clientOptions, url: server.url + base }));
    expect(await expectTree(trace)).toMatchObject({ id: trace.rootId });
  });

  it("keep their attachments", async () => {
    const { client, rootId } = await sendTrace(clientFor("attachments"));
    const run = (await client.readRun(rootId)) as unknown as { s3_urls: Record<string, { presigned_url: string }> };
    const response = await fetch(run.s3_urls["attachment.picture"]!.presigned_url);
    expect(response.headers.get("content-type")).toBe("image/png");
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(PNG);
  });

  it("come as a JSON batch where multipart is refused, and again after a 429", async () => {
    // With compression langsmith 0.12 drops the traces for which multipart was refused.
    vi.stubEnv("LANGSMITH_DISABLE_RUN_COMPRESSION", "true");
    const seen: string[] = [];
    const front = await proxy((path, count) => {
      seen.push(path);
      if (path.endsWith("/runs/multipart")) return { status: 404 };
      return path.endsWith("/runs/batch") && count === 1 ? { status: 429, headers: { "retry-after": "1" } } : undefined;
    });
    const trace = await sendTrace(clientFor("batches", { url: front.url }));
    await expectTree({ ...trace, client: clientFor("batches").client });
    expect(seen.filter((path) => path === "/runs/batch").length).toBeGreaterThan(1);
    front.close();
  });
});

describe("what the client reads", () => {
  let trace: Trace;
  let projectId: string;
  beforeAll(async () => {
    trace = await sendTrace(clientFor("reading"));
    projectId = (await trace.client.readProject({ projectName: "reading" })).id;
  });

  it("matches its filters", async () => {
    const names = async (more: object) => {
      const runs = await collectAll(trace.client.listRuns({ projectName: "reading", order: "asc", ...more }));
      return runs.map(({ name }) => name);
    };
    expect(await names({ isRoot: true })).toEqual(["chain"]);
    expect(await names({ runType: "llm" })).toEqual(["model"]);
    expect(await names({ error: true })).toEqual(["bad-tool"]);
    expect(await names({ filter: 'and(eq(run_type, "llm"), gt(total_tokens, 10))' })).toEqual(["model"]);
    expect(await names({ filter: 'eq(run_type, "llm")', traceFilter: 'has(tags, "outer")' })).toEqual(["model"]);
    expect(await names({ filter: "eq(is_root, true)", treeFilter: "neq(error, null)" })).toEqual(["chain"]);
    expect(await names({ treeFilter: 'eq(name, "absent")' })).toEqual([]);
    expect(await names({ id: [trace.rootId] })).toEqual(["chain"]);
    expect(await names({ parentRunId: trace.rootId })).toEqual(["model", "bad-tool"]);
    await expect(names({ filter: 'eq(colour, "red")' })).rejects.toThrow(/unknown field .* at position 3/);
  });

  it("is also there in the second generation", async () => {
    const { client, rootId } = trace;
    const items = await collectAll(
      client.runs.query({ project_ids: [projectId], selects: ["ID", "NAME", "STATUS", "TOTAL_TOKENS"] }),
    );
    expect(items.map(({ name }) => name ?? "").sort()).toEqual(["bad-tool", "chain", "model"]);
    expect(items.find(({ name }) => name === "chain")).toMatchObject({
      id: rootId,
      status: "SUCCESS",
      total_tokens: 18,
    });
    const run = await client.runs.retrieve(rootId, { project_id: projectId, selects: ["NAME", "INPUTS", "THREAD_ID"] });
    expect(run).toEqual({ id: rootId, name: "chain", inputs: { name: "bob" }, thread_id: "t-1" });
    const pages = await collectAll(client.runs.query({ project_ids: [projectId], page_size: 1, selects: ["ID"] }));
    expect(new Set(pages.map(({ id }) => id)).size).toBe(3);
    const threads = await collectAll(client.threads.query({ project_id: projectId }));
    expect(threads).toMatchObject([{ thread_id: "t-1", count: 1, total_tokens: 18 }]);
    const turns = await collectAll(client.threads.listTraces("t-1", { project_id: projectId, selects: ["NAME"] }));
    expect(turns).toMatchObject([{ trace_id: rootId, name: "chain" }]);
    const roots = await collectAll(
      client.traces.query({ project_ids: [projectId], selects: ["NAME"] } as Parameters<typeof client.traces.query>[0]),
    );
    expect(roots).toMatchObject([{ root_run: { name: "chain" } }]);
  });

  it("is threads and statistics", async () => {
    const threads = await trace.client.listThreads({ projectName: "reading" });
    expect(threads).toMatchObject([{ thread_id: "t-1", count: 1 }]);
    const groups = await collectAll(trace.client.listGroupRuns({ projectName: "reading", groupBy: "conversation" }));
    expect(groups).toMatchObject([{ group_key: "t-1", count: 1 }]);
    const stats = await trace.client.getRunStats({ projectNames: ["reading"] });
    expect(stats).toMatchObject({ run_count: 3, error_rate: 1 / 3 });
    const project = await trace.client.readProject({ projectName: "reading", includeStats: true });
    expect(project).toMatchObject({ run_count: 3, tenant_id: server.workspaceId });
  });
});

describe("feedback", () => {
  it("is created, listed, changed and deleted, and counted on the run", async () => {
    const { client, rootId } = await sendTrace(clientFor("feedback"));
    const { id } = await client.createFeedback(rootId, "correctness", { score: 0.98765, comment: "good" });
    await client.createFeedback(rootId, "mood", { value: "happy" });
    const listed = await collectAll(client.listFeedback({ runIds: [rootId] }));
    expect(listed.map(({ key }) => key).sort()).toEqual(["correctness", "mood"]);
    await client.updateFeedback(id, { score: 0.5 });
    expect(await client.readFeedback(id)).toMatchObject({ score: 0.5, comment: "good", key: "correctness" });
    const run = await client.readRun(rootId);
    expect(run.feedback_stats).toMatchObject({
      correctness: { n: 1, avg: 0.5, values: {} },
      mood: { n: 1, avg: null, values: { happy: 1 } },
    });
    const liked = await collectAll(
      client.listRuns({
        projectName: "feedback",
        filter: 'and(eq(feedback_key, "mood"), eq(feedback_value, "happy"))',
      }),
    );
    expect(liked.map(({ id }) => id)).toEqual([rootId]);
    await client.deleteFeedback(id);
    expect(await collectAll(client.listFeedback({ runIds: [rootId] }))).toHaveLength(1);
  });
});

describe("projects and datasets", () => {
  it("live as the client expects", async () => {
    const client = new Client({ apiUrl: server.url, apiKey: server.key });
    const dataset = await client.createDataset("questions", { description: "some" });
    const made = await client.createProject({
      projectName: "experiment 1",
      referenceDatasetId: dataset.id,
      metadata: { model: "m" },
    });
    expect(made).toMatchObject({
      name: "experiment 1",
      reference_dataset_id: dataset.id,
      extra: { metadata: { model: "m" } },
    });
    await expect(client.createProject({ projectName: "experiment 1" })).rejects.toThrow(/409/);
    expect(await client.createProject({ projectName: "experiment 1", upsert: true })).toMatchObject({ id: made.id });
    expect(await collectAll(client.listProjects({ referenceDatasetId: dataset.id }))).toMatchObject([{ id: made.id }]);
    expect(await collectAll(client.listProjects({ referenceFree: true, nameContains: "EXPERIMENT" }))).toEqual([]);
    expect(await collectAll(client.listProjects({ metadata: { model: "m" } }))).toMatchObject([{ id: made.id }]);
    await client.updateProject(made.id, { description: "changed" });
    expect(await client.readProject({ projectId: made.id })).toMatchObject({ description: "changed" });
    expect(await client.readDataset({ datasetName: "questions" })).toMatchObject({ id: dataset.id, session_count: 1 });
    await client.deleteProject({ projectName: "experiment 1" });
    expect(await client.hasProject({ projectName: "experiment 1" })).toBe(false);
    await client.deleteDataset({ datasetId: dataset.id });
  });

  it("take their traces along when they go", async () => {
    const { client, rootId } = await sendTrace(clientFor("doomed"));
    await client.deleteProject({ projectName: "doomed" });
    await expect(client.readRun(rootId)).rejects.toThrow(/404/);
  });
});

interface Front {
  url: string;
  close(): void;
}

/** Passes requests on to the server, unless `answer` has one of its own for a path and its count. */
async function proxy(
  answer: (path: string, count: number) => { status: number; headers?: Record<string, string> } | undefined,
): Promise<Front> {
  const counts = new Map<string, number>();
  const front: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const path = request.url ?? "/";
      counts.set(path, (counts.get(path) ?? 0) + 1);
      const own = answer(path, counts.get(path) ?? 1);
      if (own) {
        response.writeHead(own.status, own.headers).end("{}");
        return;
      }
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(
          ([name]) => !["host", "connection", "transfer-encoding", "content-length"].includes(name),
        ),
      ) as Record<string, string>;
      const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined;
      void fetch(server.url + path, { method: request.method ?? "GET", headers, ...(body ? { body } : {}) }).then(
        async (answered) => {
          response.writeHead(answered.status, { "content-type": answered.headers.get("content-type") ?? "text/plain" });
          response.end(Buffer.from(await answered.arrayBuffer()));
        },
      );
    });
  });
  await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve));
  const { port } = front.address() as { port: number };
  return { url: `http://127.0.0.1:${port}`, close: () => front.close() };
}

/** What the unmodified LangSmith clients meet at the edges: the version of the server, conflicts, exact sums, deep values. */
import { Client } from "langsmith";
import { Client as Client10 } from "langsmith-0-10";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

const SDKS = [
  // The types of the two versions differ only where these tests do not look.
  ["0.10.5", Client10 as unknown as typeof Client],
  ["0.12.0", Client],
] as const;

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(async () => server.stop());
afterEach(() => {
  vi.restoreAllMocks();
});

function createClient(Sdk: typeof Client, fetchImplementation?: typeof fetch): Client {
  return new Sdk({
    apiUrl: server.url,
    apiKey: server.key,
    autoBatchTracing: false,
    callerOptions: { maxRetries: 0 },
    ...(fetchImplementation ? { fetchImplementation } : {}),
  });
}

/** The names of the calls of newer servers. A client reads the server's version before it gives them. */
const GENERATED = ["evaluators", "datasets", "annotationQueues", "sessions", "runs", "threads", "traces", "public"];

/** What a client warns of when all of `GENERATED` are read. */
async function collectWarnings(client: Client): Promise<string[]> {
  const warn = vi.spyOn(console, "warn").mockReturnValue();
  for (const name of GENERATED) void (client as unknown as Record<string, unknown>)[name];
  const checked = (client as unknown as { _getServerInfoPromise?: Promise<unknown> })._getServerInfoPromise;
  await checked;
  await new Promise((resolve) => setTimeout(resolve, 0));
  const texts = warn.mock.calls.map(([text]) => String(text));
  warn.mockRestore();
  return texts;
}

/** The server, as if it named this version. */
const namedAs =
  (version: string): typeof fetch =>
  async (url, init) => {
    const answer = await fetch(url, init);
    if (!new Request(url).url.endsWith("/info")) return answer;
    return Response.json({ ...(await answer.json<object>()), version });
  };

describe.each(SDKS)("langsmith %s", (_, Sdk) => {
  it("does not warn that the server is too old", async () => {
    expect(await collectWarnings(createClient(Sdk))).toEqual([]);
    // It would: the check is the client's own.
    const warnings = await collectWarnings(createClient(Sdk, namedAs("0.15.99")));
    expect(warnings).toContainEqual(expect.stringContaining('Backend version "0.15.99" is older'));
  });

  it("is refused an example of another dataset, and changes nothing", async () => {
    const client = createClient(Sdk);
    const [mine, other] = [
      await client.createDataset(crypto.randomUUID()),
      await client.createDataset(crypto.randomUUID()),
    ];
    const { id } = await client.createExample({ dataset_id: other.id, inputs: { a: 1 } });
    const update = client.updateExamples([{ id, dataset_id: mine.id, inputs: { a: 2 } }]);
    await expect(update).rejects.toMatchObject({ status: 409, message: expect.stringContaining("another dataset") });
    expect((await client.readExample(id)).inputs).toEqual({ a: 1 });
  });

  it("creates a feedback config again after it was updated", async () => {
    const client = createClient(Sdk);
    const given = { feedbackKey: crypto.randomUUID(), feedbackConfig: { type: "continuous" as const, min: 0, max: 1 } };
    await client.createFeedbackConfig(given);
    await client.updateFeedbackConfig(given.feedbackKey, { isLowerScoreBetter: true });
    expect(await client.createFeedbackConfig(given)).toMatchObject({ is_lower_score_better: true });
    const other = { ...given, feedbackConfig: { ...given.feedbackConfig, max: 2 } };
    await expect(client.createFeedbackConfig(other)).rejects.toThrow("400");
  });

  it("reads a parent's cost without the noise of binary fractions", async () => {
    const client = createClient(Sdk);
    const start = Date.now() - 1_000;
    const stamp = (at: number) => `${new Date(at).toISOString().replaceAll(/[-:.Z]/g, "")}000Z`;
    const root = crypto.randomUUID();
    const common = { trace_id: root, project_name: `costs-${root}`, inputs: {}, end_time: start + 500 };
    const order = `${stamp(start)}${root}`;
    await client.createRun({
      ...common,
      id: root,
      name: "r",
      run_type: "chain",
      start_time: start,
      dotted_order: order,
    });
    for (const [n, input_cost] of [0.1, 0.2, 0.007251].entries()) {
      const id = crypto.randomUUID();
      await client.createRun({
        ...common,
        id,
        parent_run_id: root,
        name: "call",
        run_type: "llm",
        start_time: start + n,
        dotted_order: `${order}.${stamp(start + n)}${id}`,
        extra: { metadata: { usage_metadata: { input_tokens: 1, output_tokens: 1, total_tokens: 2, input_cost } } },
      });
    }
    await client.awaitPendingTraceBatches();
    expect(await client.readRun(root)).toMatchObject({ prompt_cost: "0.307251", total_cost: "0.307251" });
  });

  it("stores inputs that nest as deep as docs/limits.md says, and is refused one level more", async () => {
    const client = createClient(Sdk);
    const dataset = await client.createDataset(crypto.randomUUID());
    const nestObjects = (levels: number): Record<string, unknown> =>
      JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);
    const { id } = await client.createExample({ dataset_id: dataset.id, inputs: nestObjects(500) });
    expect((await client.readExample(id)).inputs).toEqual(nestObjects(500));
    const deeper = client.createExample({ dataset_id: dataset.id, inputs: nestObjects(502) });
    await expect(deeper).rejects.toThrow("nests deeper than 500 levels");
  });
});

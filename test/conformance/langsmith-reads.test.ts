/** What the unmodified LangSmith clients read of traces: streams of items, attachments, details, and refusals. */
import { Client } from "langsmith";
import { Client as Client10 } from "langsmith-0-10";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

const SDKS = [
  // The types of the two versions differ only where these tests do not look.
  ["0.10.5", Client10 as unknown as typeof Client],
  ["0.12.0", Client],
] as const;

let server: TestServer;
let project: string;
const traces = Array.from({ length: 5 }, () => crypto.randomUUID());
const thread = "a thread of five turns";
const NOW = Date.now() - 60_000;

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

const createClient = (Sdk: typeof Client) =>
  new Sdk({
    apiUrl: server.url,
    apiKey: server.key,
    webUrl: server.url,
    autoBatchTracing: false,
    callerOptions: { maxRetries: 0 },
  });

beforeAll(async () => {
  server = await sharedServer();
  const client = new Client({ apiUrl: server.url, apiKey: server.key });
  for (const [n, id] of traces.entries()) {
    const start = NOW + n;
    const dotted_order = `${new Date(start).toISOString().replaceAll(/[-:.Z]/g, "")}000Z${id}`;
    await client.createRun({
      id,
      trace_id: id,
      dotted_order,
      name: `turn ${n}`,
      run_type: "llm",
      project_name: "reads",
      start_time: start,
      end_time: start + 5,
      // The payload of the first turn is stored in R2 as it is sent.
      inputs: { messages: [{ role: "user", content: n === 0 ? "\u2028 long ".repeat(60_000) : `question ${n}` }] },
      outputs: { messages: [{ role: "assistant", content: `answer ${n}` }] },
      extra: {
        metadata: {
          thread_id: thread,
          usage_metadata: {
            input_tokens: 10,
            output_tokens: 5,
            total_tokens: 15,
            input_token_details: { cache_read: 3 },
            output_token_details: { reasoning: 2 },
            input_cost: 0.1,
            output_cost: 0.2,
            input_cost_details: { cache_read: 0.05 },
            output_cost_details: { reasoning: 0.15 },
          },
        },
      },
      attachments: { picture: ["image/png", Uint8Array.from([0x89, 0x50, 0xff])] },
    } as never);
  }
  await client.awaitPendingTraceBatches();
  project = (await client.readProject({ projectName: "reads" })).id;
});
afterAll(async () => server.stop());

describe("streams of langsmith 0.12.0", () => {
  it("gives the runs of all pages", async () => {
    const { runs } = new Client({ apiUrl: server.url, apiKey: server.key });
    const wanted = { project_ids: [project], page_size: 2, selects: ["ID" as const, "INPUTS" as const] };
    const streamed = await collect(runs.streaming.queryV2Items(wanted));
    expect(streamed.map(({ id }) => id)).toEqual(traces.toReversed());
    expect(streamed).toEqual(await collect(runs.query(wanted)));
    expect(JSON.stringify(streamed.at(-1))).toContain("\u2028 long \u2028 long ");
  });

  it("gives traces and threads", async () => {
    const client = new Client({ apiUrl: server.url, apiKey: server.key });
    const wanted = { project_id: project, page_size: 2 };
    const roots = await collect(client.traces.streaming.queryItems(wanted));
    expect(roots.map(({ root_run }) => root_run?.id)).toEqual(traces.toReversed());
    const threads = await collect(client.threads.streaming.queryItems(wanted));
    expect(threads).toMatchObject([{ thread_id: thread, count: 5 }]);
  });

  it("refuses a filter with a fault as a query does", async () => {
    const { runs } = new Client({ apiUrl: server.url, apiKey: server.key, callerOptions: { maxRetries: 0 } });
    const wanted = { project_ids: [project], filter: "eq(nonsense" };
    await expect(collect(runs.streaming.queryV2Items(wanted))).rejects.toMatchObject({ status: 400 });
  });
});

it("langsmith 0.12.0 gives statistics of all threads", async () => {
  const { threads } = new Client({ apiUrl: server.url, apiKey: server.key });
  const select = ["THREAD_COUNT" as const, "TRACE_COUNT" as const, "TOTAL_TOKENS" as const, "TOTAL_COST" as const];
  expect(await threads.aggregateStats({ project_id: project, select })).toEqual({
    thread_count: 1,
    trace_count: 5,
    total_tokens: 75,
    total_cost: 1.5,
    complete: true,
  });
});

describe.each(SDKS)("langsmith %s", (_, Sdk) => {
  it("gives statistics of a thread", async () => {
    const selects = ["TURNS" as const, "TOTAL_TOKENS" as const, "PROMPT_TOKEN_DETAILS" as const];
    expect(await createClient(Sdk).threads.stats(thread, { session_id: project, selects })).toEqual({
      turns: 5,
      total_tokens: 75,
      prompt_token_details: { raw: { cache_read: 15 } },
      complete: true,
    });
  });

  it("gives addresses that are pages", async () => {
    const client = createClient(Sdk);
    const dataset = await client.createDataset(`pages-${crypto.randomUUID()}`);
    const url = await client.getDatasetUrl({ datasetId: dataset.id });
    // evaluate() prints such an address.
    const compare = `${url}/compare?selectedSessions=${project}`;
    for (const address of [url, compare, await client.getProjectUrl({ projectId: project })]) {
      const page = await fetch(address);
      expect([page.status, page.headers.get("content-type")]).toEqual([200, expect.stringContaining("text/html")]);
    }
    const { headers } = await fetch(compare, { redirect: "manual" });
    expect(headers.get("location")).toBe(`/console/experiments/${dataset.id}?selectedSessions=${project}`);
  });

  it("lists runs with their attachments, and the details of their tokens and costs", async () => {
    const [run] = await collect(createClient(Sdk).listRuns({ projectName: "reads", limit: 1 }));
    expect(run).toMatchObject({
      s3_urls: { "attachment.picture": { mime_type: "image/png" } },
      prompt_token_details: { cache_read: 3 },
      completion_token_details: { reasoning: 2 },
      prompt_cost_details: { cache_read: 0.05 },
      completion_cost_details: { reasoning: 0.15 },
      total_cost: "0.3",
    });
  });
});

/** `evaluate()` of the unmodified LangSmith clients: two experiments with two evaluators, compared and exported. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { Client } from "langsmith";
import { Client as Client10 } from "langsmith-0-10";
import { evaluate, evaluateComparative } from "langsmith/evaluation";
import { evaluate as evaluate10, evaluateComparative as evaluateComparative10 } from "langsmith-0-10/evaluation";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { Bucket, localR2 } from "../support/object-stores.ts";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

let server: TestServer;
let folder: string;
beforeAll(async () => {
  vi.spyOn(console, "log").mockReturnValue();
  server = await sharedServer();
  folder = mkdtempSync(join(tmpdir(), "weir-evaluate-"));
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const SDKS = [
  // The types of the two versions differ only where these tests do not look.
  [
    "0.10.5",
    Client10 as unknown as typeof Client,
    evaluate10 as unknown as typeof evaluate,
    evaluateComparative10 as unknown as typeof evaluateComparative,
  ],
  ["0.12.0", Client, evaluate, evaluateComparative],
] as const;

const PNG = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe, 0x00]);
const QUESTIONS = ["one", "two", "three"];

async function call<T>(path: string, body?: unknown): Promise<T> {
  const response = await fetch(server.url + path, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...server.headers, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

interface Experiment {
  id: string;
  name: string;
}

describe.each(SDKS)("langsmith %s", (version, SdkClient, run, runComparative) => {
  const dataset = `questions-${version}`;
  const experiments: Record<string, Experiment> = {};
  let client: Client;
  let datasetId = "";
  beforeAll(() => {
    client = new SdkClient({ apiUrl: server.url, apiKey: server.key, webUrl: server.url });
  });

  /** Right about all questions, or wrong about the one that is named. */
  async function experiment(prefix: string, wrong?: string): Promise<Experiment> {
    const results = await run(
      async ({ question }: { question: string }) => {
        if (wrong === "three" && question === "three") throw new Error("no idea");
        return { answer: question === wrong ? "wrong" : question.toUpperCase() };
      },
      {
        client,
        data: dataset,
        experimentPrefix: prefix,
        metadata: { prefix },
        maxConcurrency: 2,
        evaluators: [
          ({ outputs, referenceOutputs }: { outputs: object; referenceOutputs?: object }) => ({
            key: "correct",
            score: JSON.stringify(outputs) === JSON.stringify(referenceOutputs) ? 1 : 0,
          }),
          ({ outputs }: { outputs?: { answer?: string } }) => ({ key: "length", score: outputs?.answer?.length ?? 0 }),
        ],
        summaryEvaluators: [({ runs }: { runs: object[] }) => ({ key: "answered", score: runs.length })],
      },
    );
    expect(results.results).toHaveLength(QUESTIONS.length);
    await client.flush();
    const name = results.experimentName;
    return { id: (await client.readProject({ projectName: name })).id, name };
  }

  it("creates a dataset with examples, and reads it back", async () => {
    const made = await client.createDataset(dataset, { description: "d", metadata: { team: "x" } });
    datasetId = made.id;
    const examples = await client.createExamples(
      QUESTIONS.map((question, n) => ({
        dataset_id: made.id,
        inputs: { question },
        outputs: { answer: question.toUpperCase() },
        metadata: { n },
        ...(n === 0 ? { split: "first", attachments: { picture: { mimeType: "image/png", data: PNG } } } : {}),
      })),
    );
    expect(examples.map(({ inputs }) => inputs.question)).toEqual(QUESTIONS);
    expect((await client.readDataset({ datasetName: dataset })).example_count).toBe(3);
    const listed = await collect(client.listExamples({ datasetId, includeAttachments: true, splits: ["first"] }));
    const url = listed[0]?.attachments?.picture?.presigned_url ?? "";
    expect(new Uint8Array(await (await fetch(url)).arrayBuffer())).toEqual(PNG);
    expect(await collect(client.listExamples({ datasetName: dataset, metadata: { n: 1 } }))).toHaveLength(1);
  });

  it("evaluates: an experiment with scores, summaries and the dataset's version", async () => {
    for (const [prefix, wrong] of [
      ["base", "two"],
      ["next", "one"],
      ["broken", "three"],
    ] as const) {
      experiments[prefix] = await experiment(prefix, wrong);
    }
    const { id } = experiments.base as Experiment;
    const project = await client.readProject({ projectId: id, includeStats: true });
    const examples = await collect(client.listExamples({ datasetId }));
    expect(project).toMatchObject({
      reference_dataset_id: datasetId,
      run_count: 3,
      feedback_stats: { correct: { n: 3, avg: 2 / 3 }, length: { n: 3 } },
      session_feedback_stats: { answered: { n: 1, avg: 3 } },
      extra: { metadata: { prefix: "base", dataset_version: examples[0]?.modified_at } },
    });
    expect(await client.readDataset({ datasetId })).toMatchObject({ example_count: 3, session_count: 3 });
    const roots = await collect(client.listRuns({ projectId: id, isRoot: true }));
    expect(new Set(roots.map((root) => root.reference_example_id))).toEqual(new Set(examples.map((one) => one.id)));
    expect(roots).toHaveLength(3);
    const [listed] = await collect(client.listProjects({ referenceDatasetId: datasetId, nameContains: "base" }));
    expect(listed?.id).toBe(id);
  });

  it("compares: side by side, what improved and what regressed", async () => {
    const { base, next, broken } = experiments as Record<"base" | "next" | "broken", Experiment>;
    const of = [base, next, broken].map(({ id }) => `experiment=${id}`).join("&");
    const page = await call<{
      total: number;
      experiments: object[];
      rows: { example: { inputs: { question: string } }; results: { runs: object[]; regressed: string[] }[] }[];
    }>(`/datasets/${datasetId}/compare?${of}`);
    expect(page.total).toBe(3);
    expect(page.experiments).toMatchObject([
      { id: base.id, run_count: 3, error_count: 0, improved: {}, regressed: {}, scores: { correct: 2 / 3 } },
      { id: next.id, error_count: 0, improved: { correct: 1 }, regressed: { correct: 1 }, newly_failed: 0 },
      { id: broken.id, error_count: 1, newly_failed: 1 },
    ]);
    const row = (question: string) => page.rows.find(({ example }) => example.inputs.question === question);
    expect(row("one")?.results).toMatchObject([
      { runs: [{ outputs: { answer: "ONE" }, status: "success" }], scores: { correct: 1 } },
      {
        runs: [{ outputs: { answer: "wrong" } }],
        scores: { correct: 0 },
        improved: ["length"],
        regressed: ["correct"],
      },
      { runs: [{ outputs: { answer: "ONE" } }], improved: [], regressed: [] },
    ]);
    expect(row("three")?.results[2]).toMatchObject({ runs: [{ status: "error" }], newly_failed: true });
    const pair = `experiment=${base.id}&experiment=${next.id}`;
    const regressions = await call<typeof page>(`/datasets/${datasetId}/compare?${pair}&change=regressed&key=correct`);
    expect(regressions.rows.map(({ example }) => example.inputs.question)).toEqual(["one"]);
    expect(regressions.total).toBe(1);
  });

  it("compares experiments in pairs with evaluateComparative", async () => {
    const { base, next } = experiments as Record<"base" | "next", Experiment>;
    const { results } = await runComparative([base.name, next.name], {
      client,
      evaluators: [
        ({ runs }: { runs: { id: string; outputs?: object }[] }) => ({
          key: "preferred",
          scores: Object.fromEntries(runs.map(({ id }, index) => [id, index])),
        }),
      ],
    });
    expect(results).toHaveLength(3);
    const listed = await call<{ experiments_info: object[] }[]>(`/datasets/${datasetId}/comparative`);
    expect(listed).toMatchObject([{ experiments_info: [{ id: base.id }, { id: next.id }] }]);
  });

  it("changes, versions, splits, shares and deletes", async () => {
    const [example] = await collect(client.listExamples({ datasetId, metadata: { n: 1 } }));
    const id = example?.id ?? "";
    const before = await client.readDatasetVersion({ datasetId, asOf: new Date() });
    await client.updateExample({ id, metadata: { n: 7 }, outputs: { answer: "changed" } });
    expect(await client.readExample(id)).toMatchObject({
      inputs: { question: "two" },
      outputs: { answer: "changed" },
      metadata: { n: 7, dataset_split: ["base"] },
    });
    await client.updateDatasetTag({ datasetId, asOf: before.as_of, tag: "before" });
    const [old] = await collect(client.listExamples({ datasetId, exampleIds: [id], asOf: "before" }));
    expect(old?.outputs).toEqual({ answer: "TWO" });
    expect(await client.diffDatasetVersions({ datasetId, fromVersion: "before", toVersion: "latest" })).toEqual({
      examples_added: [],
      examples_modified: [id],
      examples_removed: [],
    });
    await client.updateDatasetSplits({ datasetId, splitName: "hard", exampleIds: [id] });
    expect(await client.listDatasetSplits({ datasetId })).toEqual(["base", "first", "hard"]);
    expect(await collect(client.listExamples({ datasetId, splits: ["hard"] }))).toHaveLength(1);
    expect(await client.updateDataset({ datasetId, description: "new" })).toMatchObject({ description: "new" });

    const { url } = await client.shareDataset(datasetId);
    const copy = `copy-${version}`;
    await client.clonePublicDataset(url, { datasetName: copy });
    expect(await client.readDataset({ datasetName: copy })).toMatchObject({ example_count: 3 });
    const token = new URL(url).pathname.split("/").at(-2) ?? "";
    expect(await client.listSharedExamples(token)).toHaveLength(3);
    await client.unshareDataset(datasetId);
    await expect(client.readSharedDataset(token)).rejects.toThrow(/404|no longer shared/);

    const [root] = await collect(client.listRuns({ projectId: experiments.base?.id, isRoot: true, limit: 1 }));
    const link = await client.shareRun(root?.id ?? "");
    expect(await client.readRunSharedLink(root?.id ?? "")).toBe(link);
    const shared = await fetch(link);
    expect(await shared.json()).toMatchObject([{ id: root?.id, outputs: root?.outputs }]);
    await client.unshareRun(root?.id ?? "");
    expect((await fetch(link)).status).toBe(404);

    await client.deleteExample(id);
    const [other] = await collect(client.listExamples({ datasetId, splits: ["first"] }));
    await client.deleteExamples([other?.id ?? ""], { hardDelete: true });
    expect((await client.readDataset({ datasetId })).example_count).toBe(1);
    await client.deleteDataset({ datasetName: copy });
    expect(await client.hasDataset({ datasetName: copy })).toBe(false);
  });

  it("receives an error for calls that are not served", async () => {
    const fork = fetch(`${server.url}/repos/owner/name/fork`, { method: "POST", headers: server.headers, body: "{}" });
    expect(await (await fork).text()).toMatch(/does not serve .*docs\/experiments\.md/);
  });
});

it("an export of all experiments holds every run with its scores, read by DuckDB", async () => {
  const bucket = new Bucket(localR2(server.url));
  await bucket.create();
  const { endpoint, bucket: bucket_name, accessKeyId, secretAccessKey } = bucket.server;
  const destination = await call<{ id: string }>("/api/v1/bulk-exports/destinations", {
    destination_type: "s3",
    display_name: "lake",
    config: { bucket_name, prefix: "experiments", region: "us-east-1", endpoint_url: endpoint },
    credentials: { access_key_id: accessKeyId, secret_access_key: secretAccessKey },
  });
  const now = Date.now();
  const { id } = await call<{ id: string }>("/api/v1/bulk-exports", {
    bulk_export_destination_id: destination.id,
    all_experiments: true,
    start_time: new Date(now - 86_400_000).toISOString(),
    end_time: new Date(now + 60_000).toISOString(),
    format_version: "v2_beta",
  });
  await vi.waitFor(
    async () => expect(await call(`/api/v1/bulk-exports/${id}`)).toMatchObject({ status: "COMPLETED" }),
    { timeout: 60_000, interval: 200 },
  );
  await bucket.download(`experiments/export_id=${id}`, folder);
  const connection = await (await DuckDBInstance.create()).connect();
  const files = `read_parquet('${join(folder, `experiments/export_id=${id}`)}/**/*.parquet', hive_partitioning = true)`;
  const rows = await connection.runAndReadAll(
    `SELECT session_id::VARCHAR AS session_id, count(*)::INT AS n, count(DISTINCT reference_example_id)::INT AS examples,
       sum((feedback_stats::JSON -> 'correct' ->> 'avg')::DOUBLE)::INT AS correct,
       count(feedback_stats::JSON -> 'length')::INT AS measured
     FROM ${files} WHERE is_root AND reference_example_id IS NOT NULL GROUP BY 1`,
  );
  const found = new Map(rows.getRowObjectsJson().map(({ session_id, ...row }) => [session_id, row]));
  const sessions = await call<Experiment[]>("/sessions?reference_free=false&limit=100");
  expect(sessions).toHaveLength(6);
  expect(found.size).toBe(6);
  for (const session of sessions) {
    expect([session.name, found.get(session.id)]).toEqual([
      session.name,
      { n: 3, examples: 3, correct: 2, measured: 3 },
    ]);
  }
});

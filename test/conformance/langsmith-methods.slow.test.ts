/** Every method of the LangSmith client answers, or is refused with 501 and a page. A method of a new version fails the list. */
import { Client } from "langsmith";
import { Client as Client10 } from "langsmith-0-10";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { PROMPTS } from "./langsmith-prompts.ts";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(async () => server.stop());

const SDKS = [
  // The types of the two versions differ only where this test does not look.
  ["0.10.5", Client10 as unknown as typeof Client],
  ["0.12.0", Client],
] as const;

/** Methods that ask the server nothing. */
const LOCAL =
  `constructor tracingMode getProfileManagedAuthorizationHeader isProfileManagedAuthorizationHeader hasExplicitAuthHeader
  applyCurrentAuthHeaders getHostUrl headers openAPIClient processInputs processOutputs processMetadata processError
  prepareRunCreateOrUpdateInputs drainAutoBatchQueue processRunOperation parseTokenOrUrl cleanup toString`.split(/\s+/);

interface Found {
  query(wanted: object): unknown;
}

/** Members that only one of the versions has, or that this test calls more loosely than their types allow. */
interface Members {
  evaluators: { list(): unknown };
  sandboxes: { boxes: { list(): unknown } };
  datasets: { experimentRuns: { query(id: string, wanted: object): unknown } };
  annotationQueues: {
    retrieve(id: string): unknown;
    createRunStatus?(id: string, body: object): unknown;
    items?: { list(id: string, query: object): unknown };
  };
  sessions: { listV2(wanted: object): unknown };
  runs: Found;
  threads: Found;
  traces: Found;
  public: { runs: { query(token: string, wanted: object): unknown } };
  listRunsFromAnnotationQueue(id: string): unknown;
  readThread(wanted: object): unknown;
  listThreads(wanted: object): unknown;
  addFeedbackCategories(key: string, categories: object[]): unknown;
  removeFeedbackCategories(key: string, values: number[]): unknown;
}

const asMembers = (client: Client) => client as unknown as Members;

/** Methods whose routes are served nowhere. */
const REFUSED: Record<string, (c: Client, ids: Ids) => unknown> = {
  evaluators: (c) => takeFirst(asMembers(c).evaluators.list()),
  sandboxes: (c) => takeFirst(asMembers(c).sandboxes.boxes.list()),
  sessions: (c) => takeFirst(asMembers(c).sessions.listV2({})),
  agents: (c) => takeFirst(c.listAgents()),
  pullAgent: (c) => c.pullAgent("-/a"),
  pullSkill: (c) => c.pullSkill("-/s"),
  pushAgent: (c) => c.pushAgent("-/a", { files: {} }),
  pushSkill: (c) => c.pushSkill("-/s", { files: {} }),
  deleteAgent: (c) => c.deleteAgent("-/a"),
  deleteSkill: (c) => c.deleteSkill("-/s"),
  listAgents: (c) => takeFirst(c.listAgents()),
  listSkills: (c) => takeFirst(c.listSkills()),
};

interface Ids {
  run: string;
  project: string;
  dataset: string;
  example: string;
  feedback: string;
  publicDataset: string;
  queue: string;
  experiments: string[];
}

async function takeFirst(items: unknown): Promise<unknown> {
  const list = items as AsyncIterable<unknown>;
  if (typeof list?.[Symbol.asyncIterator] !== "function") return items;
  for await (const item of list) return item;
  return undefined;
}

/** The served methods in an order in which each finds what it needs. */
const SERVED: Record<string, (c: Client, ids: Ids) => unknown> = {
  createProject: async (c, ids) => {
    ids.project = (await c.createProject({ projectName: `p-${ids.run}` })).id;
  },
  createRun: (c, { run }) =>
    c.createRun({
      id: run,
      name: "r",
      run_type: "chain",
      inputs: { q: 1 },
      project_name: `p-${run}`,
      start_time: Date.now(),
      trace_id: run,
      dotted_order: `${toDottedOrder()}${run}`,
    }),
  flush: (c) => c.flush(),
  awaitPendingTraceBatches: (c) => c.awaitPendingTraceBatches(),
  updateRun: async (c, { run }) => {
    await c.updateRun(run, {
      outputs: { a: 2 },
      end_time: Date.now(),
      trace_id: run,
      dotted_order: `${toDottedOrder()}${run}`,
    });
    await c.flush();
  },
  batchIngestRuns: async (c, { run }) =>
    c.batchIngestRuns({
      runUpdates: [{ id: run, trace_id: run, dotted_order: `${toDottedOrder()}${run}`, tags: ["b"] }],
    }),
  multipartIngestRuns: async (c, { run }) =>
    c.multipartIngestRuns({
      runUpdates: [{ id: run, trace_id: run, dotted_order: `${toDottedOrder()}${run}`, tags: ["m"] }],
    }),
  readRun: async (c, { run }) =>
    expect(await c.readRun(run)).toMatchObject({ id: run, outputs: { a: 2 }, tags: ["m"] }),
  getRunUrl: (c, { run }) => c.getRunUrl({ runId: run }),
  listRuns: async (c, { run }) =>
    expect(await takeFirst(c.listRuns({ projectName: `p-${run}` }))).toMatchObject({ id: run }),
  runs: async (c, { run, project }) =>
    expect(await takeFirst(asMembers(c).runs.query({ project_ids: [project] }))).toMatchObject({ id: run }),
  listGroupRuns: (c, { run }) => takeFirst(c.listGroupRuns({ projectName: `p-${run}`, groupBy: "conversation" })),
  readThread: (c, { run }) => takeFirst(asMembers(c).readThread({ threadId: "t", projectName: `p-${run}` })),
  listThreads: (c, { run }) => takeFirst(asMembers(c).listThreads({ projectName: `p-${run}` })),
  threads: (c, { project }) => takeFirst(asMembers(c).threads.query({ project_id: project })),
  traces: async (c, { run, project }) => {
    const wanted = { project_id: project, trace_ids: [run], selects: ["ID"] };
    expect(await takeFirst(asMembers(c).traces.query(wanted))).toMatchObject({
      root_run: { id: run },
      trace_aggregates: { total_tokens: 0 },
    });
  },
  getRunStats: async (c, { run }) =>
    expect(await c.getRunStats({ projectNames: [`p-${run}`] })).toMatchObject({ run_count: 1 }),
  shareRun: (c, { run }) => c.shareRun(run),
  readRunSharedLink: async (c, { run }) => expect(await c.readRunSharedLink(run)).toContain("/public/"),
  public: async (c, { run }) => {
    const token = (await c.readRunSharedLink(run))!.split("/").at(-2)!;
    expect(await takeFirst(asMembers(c).public.runs.query(token, {}))).toBeDefined();
  },
  unshareRun: (c, { run }) => c.unshareRun(run),
  hasProject: async (c, { run }) => expect(await c.hasProject({ projectName: `p-${run}` })).toBe(true),
  readProject: (c, { project }) => c.readProject({ projectId: project, includeStats: true }),
  updateProject: (c, { project }) => c.updateProject(project, { description: "d" }),
  listProjects: (c, { run }) => takeFirst(c.listProjects({ name: `p-${run}` })),
  getProjectUrl: (c, { project }) => c.getProjectUrl({ projectId: project }),
  createDataset: async (c, ids) => {
    ids.dataset = (await c.createDataset(`d-${ids.run}`)).id;
  },
  readDataset: (c, { dataset }) => c.readDataset({ datasetId: dataset }),
  hasDataset: async (c, { dataset }) => expect(await c.hasDataset({ datasetId: dataset })).toBe(true),
  getDatasetUrl: (c, { dataset }) => c.getDatasetUrl({ datasetId: dataset }),
  listDatasets: (c) => takeFirst(c.listDatasets()),
  updateDataset: (c, { dataset }) => c.updateDataset({ datasetId: dataset, description: "d" }),
  createExample: async (c, ids) => {
    ids.example = (await c.createExample({ a: 1 }, { b: 2 }, { datasetId: ids.dataset })).id;
  },
  createExamples: (c, { dataset }) => c.createExamples({ inputs: [{ a: 2 }], outputs: [{ b: 3 }], datasetId: dataset }),
  createLLMExample: (c, { dataset }) => c.createLLMExample("in", "out", { datasetId: dataset }),
  createChatExample: (c, { dataset }) =>
    c.createChatExample([{ role: "user", content: "hi" }], undefined, { datasetId: dataset }),
  uploadExamplesMultipart: (c, { dataset }) => c.uploadExamplesMultipart(dataset, [{ inputs: { a: 5 } }]),
  updateExamplesMultipart: (c, { dataset, example }) =>
    c.updateExamplesMultipart(dataset, [{ id: example, inputs: { a: 6 } }]),
  readExample: async (c, { example }) => expect(await c.readExample(example)).toMatchObject({ inputs: { a: 6 } }),
  listExamples: (c, { dataset }) => takeFirst(c.listExamples({ datasetId: dataset })),
  updateExample: (c, { example, dataset }) =>
    c.updateExample({ id: example, dataset_id: dataset, inputs: { a: 7 } } as never),
  updateExamples: (c, { example, dataset }) =>
    c.updateExamples([{ id: example, dataset_id: dataset, inputs: { a: 8 } }]),
  updateDatasetTag: (c, { dataset }) => c.updateDatasetTag({ datasetId: dataset, asOf: new Date(), tag: "now" }),
  readDatasetVersion: (c, { dataset }) => c.readDatasetVersion({ datasetId: dataset, tag: "now" }),
  diffDatasetVersions: (c, { dataset }) =>
    c.diffDatasetVersions({ datasetId: dataset, fromVersion: "now", toVersion: "latest" }),
  updateDatasetSplits: (c, { dataset, example }) =>
    c.updateDatasetSplits({ datasetId: dataset, splitName: "s", exampleIds: [example] }),
  listDatasetSplits: async (c, { dataset }) => expect(await c.listDatasetSplits({ datasetId: dataset })).toContain("s"),
  shareDataset: async (c, ids) => {
    ids.publicDataset = (await c.shareDataset(ids.dataset)).share_token;
  },
  readDatasetSharedSchema: (c, { dataset }) => c.readDatasetSharedSchema(dataset),
  readSharedDataset: (c, { publicDataset }) => c.readSharedDataset(publicDataset),
  listSharedExamples: (c, { publicDataset }) => c.listSharedExamples(publicDataset),
  clonePublicDataset: (c, { publicDataset, run }) =>
    c.clonePublicDataset(`${server.url}/public/${publicDataset}/d`, {
      sourceApiUrl: server.url,
      datasetName: `clone-${run}`,
    }),
  unshareDataset: (c, { dataset }) => c.unshareDataset(dataset),
  createComparativeExperiment: async (c, { dataset, run }) => {
    const made = [1, 2].map(
      async (n) => (await c.createProject({ projectName: `e${n}-${run}`, referenceDatasetId: dataset })).id,
    );
    await c.createComparativeExperiment({ name: `c-${run}`, experimentIds: await Promise.all(made) });
  },
  datasets: async (c, { dataset, run }) => {
    const experiment = await c.readProject({ projectName: `e1-${run}` });
    const rows = asMembers(c).datasets.experimentRuns.query(dataset, { experiment_ids: [experiment.id] });
    expect(await takeFirst(rows)).toMatchObject({ dataset_id: dataset, runs: [] });
  },
  uploadCsv: async (c, { run }) => {
    const csvFile = new Blob(["a,b\n1,2"]);
    const made = await c.uploadCsv({ csvFile, fileName: `${run}.csv`, inputKeys: ["a"], outputKeys: ["b"] });
    expect(made).toMatchObject({ name: `${run}.csv`, example_count: 1 });
    expect(await takeFirst(c.listExamples({ datasetId: made.id }))).toMatchObject({
      inputs: { a: "1" },
      outputs: { b: "2" },
    });
  },
  readDatasetOpenaiFinetuning: async (c, { dataset }) =>
    expect(await c.readDatasetOpenaiFinetuning({ datasetId: dataset })).toContainEqual({
      messages: [{ role: "user", content: "hi" }],
    }),
  createAnnotationQueue: async (c, ids) => {
    const rubricItems = [{ feedback_key: "k", is_required: true }];
    const made = await c.createAnnotationQueue({ name: `q-${ids.run}`, rubricInstructions: "read", rubricItems });
    expect(made).toMatchObject({ name: `q-${ids.run}` });
    ids.queue = made.id;
  },
  updateAnnotationQueue: (c, { queue, run }) => c.updateAnnotationQueue(queue, { name: `r-${run}` }),
  readAnnotationQueue: async (c, { queue, run }) =>
    expect(await c.readAnnotationQueue(queue)).toMatchObject({ name: `r-${run}`, rubric_instructions: "read" }),
  listAnnotationQueues: async (c, { queue }) =>
    expect(await takeFirst(c.listAnnotationQueues({ queueIds: [queue] }))).toMatchObject({ id: queue, total_runs: 0 }),
  addRunsToAnnotationQueue: async (c, { queue, run, project }) => {
    await c.addRunsToAnnotationQueue(queue, [run]);
    // The form with keys, which one of the versions has.
    const { start_time } = await c.readRun(run);
    const key = { runId: run, sessionId: project, startTime: start_time };
    await c.addRunsToAnnotationQueue(queue, [key] as never);
  },
  getRunFromAnnotationQueue: async (c, { queue, run }) =>
    expect(await c.getRunFromAnnotationQueue(queue, 0)).toMatchObject({ id: run, outputs: { a: 2 } }),
  listRunsFromAnnotationQueue: async (c, { queue, run }) =>
    expect(await takeFirst(asMembers(c).listRunsFromAnnotationQueue(queue))).toMatchObject({ id: run }),
  getSizeFromAnnotationQueue: async (c, { queue }) =>
    expect(await c.getSizeFromAnnotationQueue(queue)).toEqual({ size: 1 }),
  annotationQueues: async (c, { queue, run }) => {
    const own = asMembers(c).annotationQueues;
    expect(await own.retrieve(queue)).toMatchObject({ id: queue });
    const wanted = { status: "needs_my_review" };
    if (own.items)
      expect(await takeFirst(own.items.list(queue, wanted))).toMatchObject({ run_id: run, item_type: "RUN" });
  },
  deleteRunFromAnnotationQueue: async (c, { queue, run }) => {
    await c.deleteRunFromAnnotationQueue(queue, run);
    await expect(c.getRunFromAnnotationQueue(queue, 0)).rejects.toThrow("404");
  },
  deleteAnnotationQueue: (c, { queue }) => c.deleteAnnotationQueue(queue),
  createFeedback: async (c, ids) => {
    ids.feedback = (
      await c.createFeedback(ids.run, "k", {
        score: 1,
        sessionId: ids.project,
        startTime: Date.now(),
      } as never)
    ).id;
  },
  readFeedback: async (c, { feedback }) => expect(await c.readFeedback(feedback)).toMatchObject({ score: 1 }),
  updateFeedback: (c, { feedback }) => c.updateFeedback(feedback, { score: 0 }),
  listFeedback: (c, { run }) => takeFirst(c.listFeedback({ runIds: [run] })),
  logEvaluationFeedback: async (c, { run }) => c.logEvaluationFeedback({ key: "e", score: 1 }, await c.readRun(run)),
  createPresignedFeedbackToken: (c, { run }) => c.createPresignedFeedbackToken(run, "k"),
  listPresignedFeedbackTokens: (c, { run }) => takeFirst(c.listPresignedFeedbackTokens(run)),
  createFeedbackConfig: (c, { run }) => c.createFeedbackConfig({ feedbackKey: `k-${run}`, feedbackConfig: CATEGORIES }),
  listFeedbackConfigs: (c) => takeFirst(c.listFeedbackConfigs()),
  updateFeedbackConfig: (c, { run }) => c.updateFeedbackConfig(`k-${run}`, { isLowerScoreBetter: true }),
  addFeedbackCategories: async (c, { run }) => {
    const added = await asMembers(c).addFeedbackCategories(`k-${run}`, [{ value: 2, label: "ok" }]);
    expect(added).toMatchObject({
      feedback_config: { categories: [{ value: 0 }, { value: 1 }, { value: 2, label: "ok" }] },
    });
  },
  removeFeedbackCategories: async (c, { run }) => {
    const left = await asMembers(c).removeFeedbackCategories(`k-${run}`, [2]);
    expect(left).toMatchObject({ feedback_config: { categories: [{ value: 0 }, { value: 1 }] } });
  },
  ...PROMPTS,
  deleteFeedbackConfig: (c, { run }) => c.deleteFeedbackConfig(`k-${run}`),
  deleteFeedback: (c, { feedback }) => c.deleteFeedback(feedback),
  deleteExample: (c, { example }) => c.deleteExample(example),
  deleteExamples: async (c, { dataset }) =>
    c.deleteExamples([((await takeFirst(c.listExamples({ datasetId: dataset }))) as { id: string }).id]),
  deleteDataset: (c, { dataset }) => c.deleteDataset({ datasetId: dataset }),
  deleteProject: (c, { project }) => c.deleteProject({ projectId: project }),
};
const CATEGORIES = {
  type: "categorical",
  categories: [
    { value: 0, label: "bad" },
    { value: 1, label: "good" },
  ],
} as never;
/** Both versions send a path without `?`. */
const BROKEN = ["listSharedRuns"];

const TIME = new Date();
const toDottedOrder = () => `${TIME.toISOString().replaceAll(/[-:.Z]/g, "")}000Z`;

describe.each(SDKS)("langsmith %s", (_, Sdk) => {
  const names = Object.getOwnPropertyNames(Sdk.prototype).filter((name) => !name.startsWith("_"));

  it("has no method that this test does not know", () => {
    const known = new Set([...LOCAL, ...Object.keys(SERVED), ...Object.keys(REFUSED), ...BROKEN]);
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  });

  it("has each served method answered", async () => {
    const client = newClient();
    const ids = { run: crypto.randomUUID() } as Ids;
    const failed: string[] = [];
    for (const [name, call] of Object.entries(SERVED).filter(([name]) => names.includes(name))) {
      try {
        await call(client, ids);
      } catch (error) {
        failed.push(`${name}: ${String(error).slice(0, 300)}`);
      }
    }
    expect(failed).toEqual([]);
  });

  it("has each other method refused with 501 and the page that lists the calls", async () => {
    const answers: [number, string][] = [];
    // A client of its own for each method, for clients keep what they were answered.
    const createWatched = (): Client =>
      newClient(async (url, init) => {
        const response = await fetch(url, init);
        // Agents and skills are looked for among the prompts first.
        const isAsked = /\/(?:info|settings|repos\/-\/\w+)\??$/.test(new Request(url).url);
        if (!isAsked) answers.push([response.status, await response.clone().text()]);
        return response;
      });
    const ids = {} as Ids;
    for (const [name, call] of Object.entries(REFUSED).filter(([name]) => names.includes(name))) {
      answers.length = 0;
      await Promise.resolve()
        .then(() => call(createWatched(), ids))
        .catch(() => undefined);
      const refused = answers.filter(([status, text]) => status === 501 && text.includes("docs/experiments.md"));
      const others = answers.filter(([status]) => status !== 501).map(([status]) => status);
      expect({ name, refused: refused.length > 0, others }).toEqual({ name, refused: true, others: [] });
    }
  });

  function newClient(fetchImplementation?: typeof fetch): Client {
    return new Sdk({
      apiUrl: server.url,
      webUrl: server.url,
      apiKey: server.headers["x-api-key"],
      autoBatchTracing: false,
      callerOptions: { maxRetries: 0 },
      ...(fetchImplementation ? { fetchImplementation } : {}),
    });
  }
});

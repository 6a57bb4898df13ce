/** Traces and feedback with the LangSmith client, and the traces of runs on the deployment. */
import assert from "node:assert/strict";
import { Client, RunTree } from "langsmith";
import { type Check, type Smoke } from "../suite.ts";
import { human, waitUntil } from "../../../test/support/api.ts";
import { options } from "./runs.ts";
import { newThread } from "./threads.ts";

export const langsmith = (smoke: Smoke) => new Client({ apiUrl: smoke.url, apiKey: smoke.key });

async function collectAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** Sends a trace of two runs to the project of the checks. Returns the id of the root. */
export async function sendTrace(smoke: Smoke, client: Client): Promise<string> {
  const root = new RunTree({ name: "smoke", run_type: "chain", inputs: { n: 1 }, project_name: smoke.project, client });
  await root.postRun();
  const child = root.createChild({ name: "model", run_type: "llm", inputs: { q: "high?" } });
  await child.postRun();
  await child.end({ usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } });
  await child.patchRun();
  await root.end({ answer: "yes" });
  await root.patchRun();
  await client.awaitPendingTraceBatches();
  return root.id;
}

const FIELDS: ("NAME" | "STATUS" | "OUTPUTS" | "TOTAL_TOKENS" | "END_TIME")[] = [
  "NAME",
  "STATUS",
  "OUTPUTS",
  "TOTAL_TOKENS",
  "END_TIME",
];

/** Reads a trace run. Waits until the server has stored it and it has an end time. */
async function waitForEndedRun(smoke: Smoke, client: Client, id: string) {
  return waitUntil(`the run ${id} is there`, 20, async () => {
    try {
      const run = await client.runs.retrieve(id, { project_id: await findProject(smoke, client), selects: FIELDS });
      return run.end_time ? run : undefined;
    } catch {
      return undefined;
    }
  });
}

/** The id of the project of the checks. */
export async function findProject(smoke: Smoke, client: Client): Promise<string> {
  return (await client.readProject({ projectName: smoke.project })).id;
}

export const traces: Check[] = [
  {
    name: "traces: ingest, read, query",
    async run(smoke) {
      const client = langsmith(smoke);
      const root = await sendTrace(smoke, client);
      const read = await waitForEndedRun(smoke, client, root);
      assert.deepEqual(read.outputs, { answer: "yes" });
      assert.equal(read.total_tokens, 7);
      const filter = `and(eq(run_type, "llm"), gt(total_tokens, 5), eq(trace_id, "${root}"))`;
      const project_ids = [await findProject(smoke, client)];
      const found = await collectAll(client.runs.query({ project_ids, filter, selects: ["NAME"] }));
      assert.deepEqual(
        found.map(({ name }) => name),
        ["model"],
      );
    },
  },
  {
    name: "traces: a run of the deployment has one",
    graph: "echo",
    async run(smoke) {
      const { runs } = smoke.client;
      const thread = await newThread(smoke);
      const { run_id } = await runs.create(thread, "echo", { input: human("traced"), ...options(smoke) });
      await runs.join(thread, run_id);
      const run = await waitForEndedRun(smoke, langsmith(smoke), run_id);
      assert.deepEqual([run.name, run.status], ["echo", "SUCCESS"]);
    },
  },
  {
    name: "feedback: create, list, give by a link without a key, delete",
    async run(smoke) {
      const client = langsmith(smoke);
      const root = await sendTrace(smoke, client);
      await waitForEndedRun(smoke, client, root);
      const sessionId = await findProject(smoke, client);
      const { id } = await client.createFeedback(root, "clarity", { score: 1, comment: "smoke", sessionId });
      const { url } = await client.createPresignedFeedbackToken(root, "stars");
      assert.equal(new URL(url).origin, new URL(smoke.url).origin, `The link is ${url}. Set PUBLIC_URL`);
      assert.equal((await fetch(`${url}?score=4`)).status, 200);
      const listed = await collectAll(client.listFeedback({ runIds: [root] }));
      const scores = Object.fromEntries(listed.map(({ key, score }) => [key, score]));
      assert.deepEqual(scores, { clarity: 1, stars: 4 });
      await client.deleteFeedback(id);
      assert.equal((await collectAll(client.listFeedback({ runIds: [root] }))).length, 1);
    },
  },
];

/** Registers the deletion of the project of the checks. Call it first, so that the cleanup deletes the project last. */
export function deleteProjectLater(smoke: Smoke): void {
  const client = langsmith(smoke);
  smoke.undoLater("project", async () => {
    if (await client.hasProject({ projectName: smoke.project })) {
      await client.deleteProject({ projectName: smoke.project });
    }
  });
}

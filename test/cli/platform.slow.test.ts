/** What the platform gives a project under `weir dev`: a state that Wrangler made, cron triggers, queues, and the bucket over S3. */
import { execFileSync } from "node:child_process";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { quietPort } from "../support/ports.ts";
import { build } from "../../src/cli/build.ts";
import { localConfig } from "../../src/cli/dev/config.ts";
import { WRANGLER_CLI as WRANGLER, wranglerEnv } from "../../src/cli/wrangler.ts";
import { localEnvironment, findProject } from "../../src/cli/project/project.ts";
import { spawnServer } from "../../tools/bench/servers/server.ts";
import { Bucket, localR2 } from "../support/object-stores.ts";
import { answering, newProject, type RunningDev, startDev, type TestProject } from "../support/project.ts";

const HELLO = { messages: [{ role: "user", content: "hello" }] };

let project: TestProject;
let dev: RunningDev;
let client: Client;
/** Made by Wrangler's server. */
let threadId: string;
beforeAll(async () => {
  project = newProject({
    "package.json": { name: "platform" },
    "langgraph.json": { graphs: { agent: "./agent.ts:graph" } },
    "agent.ts": answering("state.messages.length"),
  });
  threadId = await readBefore();
  dev = await startDev(project.root);
  await dev.says(/Weir listens on/);
  client = new Client({ apiUrl: dev.url });
}, 400_000);
afterAll(async () => {
  await dev?.stop();
  project.remove();
});

/** Serves the project as versions before Miniflare did: `wrangler dev` with its own folder of state. Gives a thread with a run. */
async function readBefore(): Promise<string> {
  const found = await findProject(project.root);
  const environment = localEnvironment(found);
  const { file, variables } = localConfig(found, await build(found), environment);
  const common = ["--config", file, "--persist-to", found.stateDir];
  const options = { cwd: project.root, env: { ...process.env, ...wranglerEnv() } };
  execFileSync(process.execPath, [WRANGLER, "d1", "migrations", "apply", "DB", "--local", ...common], {
    ...options,
    stdio: "pipe",
  });
  const port = await quietPort();
  const vars = Object.entries(variables).flatMap(([name, value]) => ["--var", `${name}:${value as string}`]);
  const args = [WRANGLER, "dev", ...common, "--port", String(port), "--ip", "127.0.0.1", ...vars];
  const server = spawnServer(process.execPath, args, options.cwd, options.env);
  try {
    const apiUrl = `http://127.0.0.1:${port}`;
    await server.up(`${apiUrl}/ok`);
    const before = new Client({ apiUrl });
    const { thread_id } = await before.threads.create({ metadata: { by: "wrangler" } });
    await before.runs.wait(thread_id, "agent", { input: HELLO });
    await before.store.putItem(["notes"], "one", { text: "kept" });
    return thread_id;
  } finally {
    await server.stop();
  }
}

it("opens the state that Wrangler made, and continues it", async () => {
  const found = await client.threads.search({ metadata: { by: "wrangler" } });
  expect(found.map(({ thread_id }) => thread_id)).toEqual([threadId]);
  expect((await client.store.getItem(["notes"], "one"))?.value).toEqual({ text: "kept" });
  const values = (await client.runs.wait(threadId, "agent", { input: HELLO })) as typeof HELLO;
  expect(values.messages.map(({ content }) => content)).toEqual(["hello", "1", "hello", "3"]);
});

it("fires a cron at the minute, by way of its queue", async () => {
  const { thread_id } = await client.threads.create();
  await client.crons.createForThread(thread_id, "agent", { schedule: "* * * * *", input: HELLO });
  const statuses = async () => (await client.runs.list(thread_id)).map(({ status }) => status);
  await expect.poll(statuses, { timeout: 110_000, interval: 500 }).toContain("success");
});

it("writes an export by way of its queue, into the bucket that is served over S3", async () => {
  const headers = { "content-type": "application/json" };
  const call = async <T>(path: string, body?: object): Promise<T> => {
    const method = body ? "POST" : "GET";
    const answer = await fetch(`${dev.url}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
    expect(answer.status).toBeLessThan(300);
    return answer.json<T>();
  };
  const { endpoint, accessKeyId, secretAccessKey } = localR2(dev.url);
  const bucket = new Bucket({ ...localR2(dev.url), bucket: "platform-exports" });
  const destination = await call<{ id: string }>("/bulk-exports/destinations", {
    destination_type: "s3",
    display_name: "local",
    config: { bucket_name: "platform-exports", prefix: "lake", region: "us-east-1", endpoint_url: endpoint },
    credentials: { access_key_id: accessKeyId, secret_access_key: secretAccessKey },
  });
  const [session] = await call<{ id: string }[]>("/sessions");
  const { id } = await call<{ id: string }>("/bulk-exports", {
    bulk_export_destination_id: destination.id,
    session_id: session?.id,
    start_time: new Date(Date.now() - 3_600_000).toISOString(),
    end_time: new Date().toISOString(),
    format_version: "v2_beta",
  });
  const status = async () => (await call<{ status: string }>(`/bulk-exports/${id}`)).status;
  await expect.poll(status, { timeout: 90_000 }).toBe("COMPLETED");
  expect((await bucket.list("lake")).filter((key) => key.endsWith(".parquet"))).not.toEqual([]);
  const refused = new Bucket({ ...bucket.server, secretAccessKey: "wrong" });
  expect(await refused.list("lake")).toEqual([]);
});

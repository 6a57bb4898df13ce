/** `weir dev` on a project, from a first build that fails to its end. The tests follow each other on one server. */
import { createServer } from "node:net";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  answering,
  descendants,
  newProject,
  type RunningDev,
  listProcesses,
  startDev,
  type TestProject,
} from "../support/project.ts";
import { itThorough } from "../support/thorough-test.ts";

const FIRST = answering(
  `[process.env.QUOTED, process.env.LIST, text, more, version].join("|")`,
  `
import { readFileSync } from "node:fs";
import { version } from "sibling";
const text = readFileSync(new URL("./prompt.md", import.meta.url), "utf8").trim();
const name = "more";
const more = readFileSync(new URL(\`./.prompts/\${name}.md\`, import.meta.url), "utf8").trim();
`,
);
const SLOW = answering(
  `await (async () => { for (let n = 1; n <= 40; n++) { await new Promise((r) => setTimeout(r, 250)); config.writer?.({ n }); } return "done"; })()`,
);

const ADMIN_KEY = "the-admin-key-of-this-project";
/** Sends a chunk, and the next ones once /next is requested. */
const APP = `
import { Hono } from "hono";
const encoder = new TextEncoder();
const next = { done: false };
const seen = (c) => c.json([new URL(c.req.url).origin, c.req.header("cf-connecting-ip"), c.req.raw.cf.clientAcceptEncoding]);
export const app = new Hono()
  .get("/chunks", () => new Response(new ReadableStream({ async start(controller) {
    controller.enqueue(encoder.encode("first"));
    for (let n = 0; n < 200 && !next.done; n++) await new Promise((resolve) => setTimeout(resolve, 50));
    controller.enqueue(encoder.encode("last"));
    controller.close();
  } }), { headers: { "content-type": "text/plain" } }))
  .get("/seen", seen).get("/threads/seen", seen)
  .get("/next", (c) => { next.done = true; return c.text("") });
`;

let project: TestProject;
let dev: RunningDev;
let client: Client;
beforeAll(async () => {
  project = newProject({
    "langgraph.json": {
      graphs: {
        first: "./src/first.ts:graph",
        described: { path: "./src/first.ts", description: "The same by its default export" },
        slow: "./src/slow.ts:graph",
        broken: "./src/broken.ts:graph",
        optional: "./src/optional.ts:graph",
        absent: "./src/first.ts:grpah",
      },
      http: { app: "./src/app.ts:app" },
      env: { QUOTED: `it's "quoted" # and\nlong $HOME`, LIST: [1, "two"], WEIR_ADMIN_KEY: ADMIN_KEY },
      node_version: "20",
    },
    "src/first.ts": "export const = 3",
    "src/app.ts": APP,
    "src/slow.ts": SLOW,
    "src/prompt.md": "You are kind.\n",
    "src/.prompts/more.md": "Be brief.\n",
    "src/broken.ts": `throw new Error("no database");\n${answering("1")}`,
    "src/optional.ts": answering("use()", `import { use } from "has-optional";`),
    "node_modules/has-optional/package.json": { name: "has-optional", main: "index.js", version: "1.0.0" },
    "node_modules/has-optional/index.js": `
      import { Thing } from "not-installed";
      const { basename } = require("path");
      const { inspect } = require("node:util");
      let tried = basename("a/loaded") + inspect(1);
      try { require("neither") } catch (error) { tried += " " + error.code }
      export function use() { try { return new Thing() } catch (error) { return tried + " " + error.message } }
    `,
    "packages/sibling/package.json": { name: "sibling", main: "dist/index.js" },
    "packages/sibling/src/index.ts": `export const version: string = "unbuilt";`,
  });
  const { symlinkSync } = await import("node:fs");
  symlinkSync("../packages/sibling", `${project.root}/node_modules/sibling`);
  dev = await startDev(project.root);
  client = new Client({ apiUrl: dev.url, callerOptions: { maxRetries: 0 } });
});
afterAll(async () => {
  await dev.stop("SIGKILL");
  project.remove();
});

/** What a run of this graph answers, or its error. */
async function answer(graph: string): Promise<string> {
  const input = { messages: [{ role: "user", content: "hi" }] };
  const values = (await client.runs.wait(null, graph, { input, raiseError: false })) as {
    messages?: { content: string }[];
    __error__?: { message: string };
  };
  return values.__error__?.message ?? values.messages?.at(-1)?.content ?? "";
}

const buildError = async () => (await fetch(`${dev.url}/ok`)).headers.get("x-weir-build-error");

it("answers with the error of a first build that failed, and serves once it is fixed", async () => {
  await dev.says(/src\/first\.ts:1:13/);
  const refused = await fetch(`${dev.url}/ok`);
  expect(refused.status).toBe(503);
  expect(await refused.json()).toMatchObject({ status: 503, detail: expect.stringContaining("src/first.ts:1:13") });
  const page = await fetch(dev.url, { headers: { accept: "text/html" } });
  expect(await page.text()).toContain("src/first.ts:1:13");
  project.write("src/first.ts", `${FIRST}\nexport default graph;`);
  await dev.says(/Weir listens on/);
  expect((await fetch(`${dev.url}/ok`)).status).toBe(200);
});

it("gives a graph its env as it is written, its files, and a package of the monorepo that is not built", async () => {
  const expected = `it's "quoted" # and\nlong $HOME|[1,"two"]|You are kind.|Be brief.|unbuilt`;
  expect(await answer("first")).toBe(expected);
  expect(await answer("described")).toBe(expected);
});

it("lets optional packages be absent until they are used", async () => {
  expect(await answer("optional")).toBe(
    'loaded1 MODULE_NOT_FOUND "not-installed" is not installed. has-optional/index.js imports it.',
  );
});

it("answers for a graph that cannot be loaded with why, while others serve", async () => {
  expect(await answer("broken")).toContain("./src/broken.ts cannot be loaded. Error: no database");
  expect(await answer("absent")).toContain('./src/first.ts has no export "grpah". It exports: default, graph.');
  const schemas = await fetch(`${dev.url}/assistants/broken/schemas`);
  expect(schemas.status).toBe(500);
  expect(await schemas.json()).toMatchObject({ detail: expect.stringContaining("no database") });
  expect(await answer("first")).toContain("quoted");
  // What a process prints arrives later than its answer.
  await dev.says(/Error: no database\n.*src\/broken\.ts:1:7/);
  await dev.says(/> {4}1 \| throw new Error\("no database"\);/);
});

it("answers 409 with the cause for the state of a thread whose graph cannot be loaded", async () => {
  const { thread_id } = await client.threads.create();
  await client.runs.wait(thread_id, "broken", { input: { messages: [] }, raiseError: false });
  const state = await fetch(`${dev.url}/threads/${thread_id}/state`);
  expect(await state.json()).toMatchObject({ status: 409, detail: expect.stringContaining("no database") });
});

it("makes its key with the admin key of the project", async () => {
  await dev.says(/Workspace, key {3}\S+ {2}weir_key_\w+/);
  const keys = await fetch(`${dev.url}/api/v1/workspaces`, { headers: { "x-api-key": ADMIN_KEY } });
  expect(keys.status).toBe(200);
});

it("passes each chunk of a stream on when it comes, also to a client that accepts gzip", async () => {
  const answer = await fetch(`${dev.url}/chunks`, { headers: { "accept-encoding": "gzip" } });
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const first = await reader.read();
  expect(new TextDecoder().decode(first.value)).toBe("first");
  await fetch(`${dev.url}/next`);
  expect(new TextDecoder().decode((await reader.read()).value)).toBe("last");
});

it("gives the Worker the same address, caller and cf whether files of the page are searched before it or not", async () => {
  for (const path of ["/seen", "/threads/seen"])
    expect(await (await fetch(dev.url + path, { headers: { "accept-encoding": "br" } })).json()).toEqual([
      dev.url,
      "127.0.0.1",
      "br",
    ]);
  const forwarded = await fetch(`${dev.url}/threads/seen`, { headers: { "x-forwarded-proto": "https" } });
  expect(await forwarded.json()).toEqual([dev.url.replace("http:", "https:"), "127.0.0.1", "gzip, deflate"]);
});

it("answers 413 for a body past the limit, also where its length is not declared", async () => {
  const large = new Uint8Array(12_000_000).fill(32);
  const bodies = [large, new ReadableStream({ start: (out) => (out.enqueue(large), out.close()) })];
  for (const body of bodies) {
    const headers = { "content-type": "application/json" };
    const init = { method: "POST", headers, body, duplex: "half" } as RequestInit;
    expect((await fetch(`${dev.url}/threads`, init)).status).toBe(413);
  }
});

it("answers no request in the name of another host", async () => {
  const { request } = await import("node:http");
  const headers = { host: "evil.example", "MF-Original-URL": `${dev.url}/api/v1/api-keys` };
  const status = await new Promise((resolve) => {
    request(`${dev.url}/x`, { headers }, ({ statusCode }) => resolve(statusCode)).end();
  });
  expect(status).toBe(421);
});

it("answers with the schemas that the types declare, once they are read", async () => {
  const messages = async () => (await client.assistants.getSchemas("slow")).output_schema?.properties?.messages;
  await expect.poll(messages, { timeout: 60_000 }).toMatchObject({ type: "array" });
});

itThorough("continues to serve the last good build while a client streams, and shows the error", async () => {
  const seen: number[] = [];
  const stream = client.runs.stream(null, "slow", { input: { messages: [] }, streamMode: "custom" });
  let shown: string | null = null;
  for await (const { event, data } of stream) {
    if (event !== "custom") continue;
    const { n } = data as { n: number };
    seen.push(n);
    if (n === 1) project.write("src/slow.ts", `${SLOW}\nconst = 3`);
    if (n === 30) {
      await dev.says(/src\/slow\.ts:\d+:6/);
      shown = await buildError();
      project.write("src/slow.ts", SLOW);
    }
  }
  expect(seen).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
  expect(shown).toContain('Expected identifier but found "="');
  await expect.poll(buildError, { timeout: 60_000 }).toBeNull();
});

it("serves what is changed, and a stream that is open continues", async () => {
  const { thread_id } = await client.threads.create();
  const body = JSON.stringify({ assistant_id: "slow", input: { messages: [] }, stream_mode: ["custom", "values"] });
  const headers = { "content-type": "application/json" };
  const stream = await fetch(`${dev.url}/threads/${thread_id}/runs/stream`, { method: "POST", headers, body });
  project.write("src/first.ts", answering(`"changed"`));
  const text = await stream.text();
  expect(text).toContain('"content":"done"');
  const ids = [...text.matchAll(/^id: (\d+)/gm)].map(([, id]) => Number(id));
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
  await expect.poll(() => answer("first"), { timeout: 60_000, interval: 500 }).toBe("changed");
});

it("prints a line a request, nothing of Miniflare's, and no secret but its own key", async () => {
  await dev.says(/\d\d:\d\d:\d\d {2}POST \/runs\/wait {2}200 {2}[\d.]+ s/);
  expect(dev.readPrinted()).not.toMatch(/\[mf:|\[wrangler|⎔|Binding +Resource/);
  expect(dev.readPrinted()).not.toContain(ADMIN_KEY);
  const { readdirSync, readFileSync, statSync } = await import("node:fs");
  const readable = readdirSync(`${project.root}/.weir`, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => `${project.root}/.weir/${name}`)
    .filter((file) => (statSync(file).mode & 0o077) !== 0);
  expect(readable.filter((file) => readFileSync(file, "utf8").includes(ADMIN_KEY))).toEqual([]);
});

it("ends with every process and the port on SIGTERM", async () => {
  const started = descendants(dev.pid);
  expect(started.length).toBeGreaterThan(1);
  expect(await dev.stop("SIGTERM")).toBe(0);
  const listAlive = () => listProcesses().filter(({ pid }) => started.includes(pid));
  await expect.poll(listAlive, { timeout: 20_000 }).toEqual([]);
  await new Promise<void>((resolve, reject) => {
    const probe = createServer().once("error", reject);
    probe.listen(Number(new URL(dev.url).port), "127.0.0.1", () => probe.close(() => resolve()));
  });
});

/** What is generated from langgraph.json and the project's own wrangler configuration. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { LOCAL_WORKSPACE_ID } from "../../src/http/principal.ts";
import { build } from "../../src/cli/build.ts";
import { LOCAL_WORKSPACE_ID as ofTheCli } from "../../src/cli/dev/loop.ts";
import { run as eject } from "../../src/cli/eject.ts";
import { readEnvironment, localEnvironment, findProject } from "../../src/cli/project/project.ts";
import { generate } from "../../src/cli/project/generate.ts";
import { answering, newProject, type TestProject } from "../support/project.ts";

const made: TestProject[] = [];
afterEach(() => made.splice(0).forEach((project) => project.remove()));

const GRAPHS = { agent: "./src/agent.ts:graph" };

async function projectWith(langgraph: object, files: Record<string, string | object> = {}) {
  const project = newProject({
    "langgraph.json": { graphs: GRAPHS, ...langgraph },
    "src/agent.ts": answering("1"),
    ...files,
  });
  made.push(project);
  return findProject(project.root);
}

async function generateWorker(langgraph: object, files: Record<string, string | object> = {}): Promise<string> {
  const project = await projectWith(langgraph, files);
  await generate(project);
  return readFileSync(join(project.weirDir, "worker.ts"), "utf8");
}

describe("langgraph.json", () => {
  it("becomes a worker that loads each module when it is needed", async () => {
    const worker = await generateWorker(
      {
        graphs: { ...GRAPHS, "the other": { path: "./src/agent.ts", description: "d" } },
        auth: { path: "./src/auth.ts:auth" },
        http: { app: "./src/app.ts:app", disable_mcp: true, mount_prefix: "/x/", logging_headers: {} },
        store: {
          index: { embed: "openai:text-embedding-3-small", dims: 1536, fields: ["text"] },
          ttl: { default_ttl: 60 },
        },
        checkpointer: { ttl: { default_ttl: 10, strategy: "delete" } },
      },
      { "src/auth.ts": "", "src/app.ts": "" },
    );
    expect(worker.split("\n").slice(1)).toEqual([
      'import { createWeir, embeddingsFrom, lazy } from "weir-server";',
      "",
      'export { Ledger, Limiter, Thread, ThreadIndex, TraceIndex, TracePartition } from "weir-server";',
      "",
      "export default createWeir({",
      "  graphs: {",
      '    "agent": lazy("./src/agent.ts:graph", () => import("../src/agent.ts")),',
      '    "the other": lazy("./src/agent.ts:default", () => import("../src/agent.ts")),',
      "  },",
      '  auth: lazy("./src/auth.ts:auth", () => import("../src/auth.ts")),',
      '  app: lazy("./src/app.ts:app", () => import("../src/app.ts")),',
      '  embeddings: embeddingsFrom("openai:text-embedding-3-small", () => import("@langchain/openai")),',
      '  config: {"graphs":{"the other":{"description":"d"}},"http":{"disable_mcp":true,"mount_prefix":"/x"},"store":{"ttl":{"default_ttl":60},"index":{"fields":["text"]}},"checkpointer":{"ttl":{"strategy":"delete","default_ttl":10}}},',
      "});",
      "",
    ]);
  });

  it("says what its agent cards say", async () => {
    const skills = [{ id: "s", name: "Sum", description: "Adds.", tags: ["math"] }];
    expect(await generateWorker({ a2a: { agent: { skills } } })).toContain(
      `\n  a2a: ${JSON.stringify({ agent: { skills } })},\n`,
    );
  });

  it("loads the components of a graph as a bundle for browsers", async () => {
    const worker = await generateWorker({ ui: { "my agent": "./src/ui.tsx" } }, { "src/ui.tsx": "" });
    const entry = '    "my agent": lazy("./src/ui.tsx:default", () => import("../src/ui.tsx?ui=my%20agent")),';
    expect(worker).toContain(`  ui: {\n    // @ts-expect-error -- weir makes this module of the file\n${entry}\n  },`);
  });

  it("takes embeddings of the project's own", async () => {
    const worker = await generateWorker(
      { store: { index: { embed: "./src/embed.ts:embed" } } },
      { "src/embed.ts": "" },
    );
    expect(worker).toContain('embeddings: lazy("./src/embed.ts:embed", () => import("../src/embed.ts"))');
  });

  it("warns of each key without an effect, and not of those for images", async () => {
    const project = await projectWith({
      http: { disable_meta: true, flies: 1 },
      dockerfile_lines: ["RUN true"],
      image_distro: "wolfi",
      node_version: "20",
      colour: "blue",
    });
    expect(project.warnings).toEqual([
      'langgraph.json: "colour" is not a known key. It has no effect.',
      'langgraph.json: "http.disable_meta" has no effect on Weir. On the Agent Server it takes /ok and /info away.',
      'langgraph.json: "http.flies" is not a known key. It has no effect.',
    ]);
  });

  it.each([
    [{ graphs: {} }, "name at least one graph"],
    [{ graphs: { a: 1 } }, 'expected "<file>:<export>"'],
    [{ http: { disable_mcp: "yes" } }, '"http.disable_mcp"'],
    [{ a2a: { agent: { skills: [{ id: "s" }] } } }, '"a2a.agent.skills.0.name"'],
    [{ a2a: { agent: { skill: [] } } }, '"a2a.agent.skill" is not a known key'],
    [{ ui: { "a/b": "./ui.tsx" } }, "expected a graph's name"],
    [{ http: { mount_prefix: "x" } }, '"http.mount_prefix": expected a path'],
    [{ store: { ttl: { default_ttl: -1 } } }, '"store.ttl.default_ttl"'],
  ])("%j is refused with what is wrong", async (langgraph, message) => {
    await expect(projectWith(langgraph)).rejects.toThrow(message);
  });

  it("that names a missing file is refused with the name", async () => {
    const project = await projectWith({ graphs: { agent: "./src/agnet.ts:graph" } });
    await expect(generate(project)).rejects.toThrow('"graphs.agent" names ./src/agnet.ts, which does not exist.');
  });

  it("that is missing is requested", async () => {
    await expect(findProject("/")).rejects.toThrow("There is no langgraph.json");
  });
});

describe("env", () => {
  it("is a file, an object, or names of the shell", async () => {
    const file = await projectWith({ env: ".env" }, { ".env": 'A="x # y"\nB=1\n' });
    expect(readEnvironment(file).variables).toEqual({ A: "x # y", B: "1" });
    const object = await projectWith({ env: { A: `it's "x"`, B: { c: [1] } } });
    expect(readEnvironment(object).variables).toEqual({ A: `it's "x"`, B: '{"c":[1]}' });
    const list = await projectWith({ env: ["A"] });
    expect(readEnvironment(list, { A: "shell", B: "no" }).variables).toEqual({ A: "shell" });
    expect(() => readEnvironment(list, {})).toThrow('"env" names A, which the shell does not set.');
  });

  it("that is a missing file is a warning that names its example", async () => {
    const project = await projectWith({ env: ".env" }, { ".env.example": "A=\n" });
    expect(readEnvironment(project).warnings).toEqual([
      'langgraph.json: "env" names .env, which does not exist. Copy .env.example to it and fill it in.',
    ]);
  });

  it("on this machine, the shell wins over the file, and .dev.vars over both", async () => {
    const project = await projectWith({ env: ".env" }, { ".env": "A=file\nB=file\nC=file", ".dev.vars": "C=dev" });
    const shell = { A: "shell", C: "shell", OPENAI_API_KEY: "key", HOME: "/home" };
    expect(localEnvironment(project, shell).variables).toEqual({
      A: "shell",
      B: "file",
      C: "dev",
      OPENAI_API_KEY: "key",
    });
  });
});

describe("the project's wrangler configuration", () => {
  const generateWrangler = async (file: string, content: string | object, options = {}) =>
    (await generate(await projectWith({}, { [file]: content }), options)).wrangler;

  it("is joined with Weir's", async () => {
    const wrangler = await generateWrangler(
      "wrangler.toml",
      `
      name = "acme"
      compatibility_date = "2020-01-01"
      limits = { subrequests = 100 }
      [vars]
      GREETING = "hi"
      [[kv_namespaces]]
      binding = "CACHE"
      id = "1"
      [[d1_databases]]
      binding = "DB"
      database_id = "mine"
      [triggers]
      crons = ["0 0 * * *"]
      [[queues.producers]]
      binding = "CRON_QUEUE"
      queue = "shared"
    `,
    );
    expect(wrangler).toMatchObject({
      name: "acme",
      main: "build/worker.js",
      limits: { cpu_ms: 300_000, subrequests: 100 },
      vars: { GREETING: "hi", EXPORTS_BUCKET_NAME: "acme-exports" },
      kv_namespaces: [{ binding: "CACHE", id: "1" }],
      d1_databases: [{ binding: "DB", database_name: "acme", database_id: "mine" }],
      r2_buckets: [{ bucket_name: "acme-blobs" }, { bucket_name: "acme-exports" }],
      triggers: { crons: ["* * * * *", "0 0 * * *"] },
    });
    expect(wrangler.compatibility_date).toMatch(/^2026/);
    const { consumers, producers } = wrangler.queues as Record<string, { queue: string }[]>;
    expect(producers?.map(({ queue }) => queue)).toEqual(["acme-exports", "acme-rules", "shared"]);
    expect(consumers?.map(({ queue }) => queue)).toEqual(["acme-exports", "acme-rules", "shared"]);
  });

  it("has one environment after --env, with resources of its own", async () => {
    const content = `{
      // Comments and commas at the end are allowed: "https://x.example/*"
      "name": "acme", "vars": { "A": "top" }, "observability": { "enabled": false },
      "env": { "staging": { "vars": { "B": "staging" }, }, },
    }`;
    const wrangler = await generateWrangler("wrangler.jsonc", content, { env: "staging" });
    expect(wrangler).toMatchObject({ name: "acme-staging", observability: { enabled: false } });
    expect(wrangler.vars).toEqual({ B: "staging", EXPORTS_BUCKET_NAME: "acme-staging-exports" });
    expect(wrangler).not.toHaveProperty("env");
    await expect(generateWrangler("wrangler.jsonc", content, { env: "prod" })).rejects.toThrow(
      'no environment "prod". It has: staging.',
    );
  });

  it.each([
    [{ durable_objects: { bindings: [{ name: "THREAD", class_name: "Mine" }] } }, '"THREAD", which Weir has too'],
    [{ kv_namespaces: [], r2_buckets: [{ binding: "BLOBS", local_dev: {} }] }, "not set local_dev"],
    [{ exports: { Thread: { type: "durable-object", storage: "sqlite" } } }, '"Thread", which Weir has too'],
    [{ migrations: [{ tag: "v1" }] }, '"migrations" cannot be joined'],
  ])("%j is refused with both sides of the collision", async (content, message) => {
    await expect(generateWrangler("wrangler.json", content)).rejects.toThrow(message);
  });

  it("names resources after the package where it has no name", async () => {
    const project = await projectWith({}, { "package.json": { name: "@acme/My_Agent" } });
    expect((await generate(project)).wrangler).toMatchObject({
      name: "my-agent",
      d1_databases: [{ database_name: "my-agent" }],
    });
  });
});

it("eject makes the generated files the project's, once", async () => {
  const project = await projectWith({});
  expect(await eject([project.root])).toBe(0);
  const worker = readFileSync(join(project.root, "src", "worker.ts"), "utf8");
  expect(worker).toContain('lazy("./src/agent.ts:graph", () => import("./agent.ts"))');
  const { wrangler } = await generate(project);
  expect(readFileSync(join(project.weirDir, "worker.ts"), "utf8")).toContain(
    'export { default } from "../src/worker.ts"',
  );
  expect(wrangler).toMatchObject({ main: "build/worker.js", no_bundle: true });
  await expect(eject([project.root])).rejects.toThrow("exists");
});

it("a build that fails leaves the last good one, and names what is wrong", async () => {
  const project = await projectWith({});
  await build(project);
  const file = join(project.weirDir, "build", "worker.js");
  const good = readFileSync(file);
  made.at(-1)?.write("src/agent.ts", `import { x } from "not-a-package";\n${answering("x")}`);
  await expect(build(project)).rejects.toThrow(/Could not resolve "not-a-package"[\s\S]*src\/agent\.ts:1:18/);
  expect(readFileSync(file).equals(good)).toBe(true);
  made.at(-1)?.write("src/agent.ts", `import sharp from "sharp";\n${answering("sharp")}`);
  const { warnings } = await build(project);
  expect(warnings).toEqual([
    'src/agent.ts: "sharp" cannot run in a Worker: it needs native code or processes. Graph "agent" cannot use it.',
  ]);
  expect(existsSync(join(project.weirDir, "build", "worker.js.map"))).toBe(false);
});

it("the local workspace is the server's", () => {
  expect(ofTheCli).toBe(LOCAL_WORKSPACE_ID);
});

/** The package as `npm pack` makes it, installed into a project outside this repository. */
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { NAME } from "../../src/cli/project/package.ts";
import { createPackedProject } from "../support/packed.ts";
import { answering, type RunningDev, startDev, writeFiles } from "../support/project.ts";

const ROOT = join(import.meta.dirname, "..", "..");

let folder: string;
let dev: RunningDev | undefined;

beforeAll(async () => {
  folder = await createPackedProject({
    "langgraph.json": {
      node_version: "20",
      graphs: { agent: "./src/graph.ts:graph" },
      dependencies: ["."],
      env: ".env",
    },
    ".env": "WHO=a package\n",
    "src/graph.ts": answering("`Hello from ${process.env.WHO}`"),
  });
}, 400_000);
afterAll(async () => {
  await dev?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it("brings none of the server's own dependencies or test clients", () => {
  const installed = readdirSync(join(folder, "node_modules"));
  for (const name of [
    "hono",
    "drizzle-orm",
    "vitest",
    "react",
    "langgraph-sdk-1-11",
    "@duckdb",
    "@modelcontextprotocol",
    "node",
  ])
    expect(installed).not.toContain(name);
  expect(readdirSync(join(folder, "node_modules", NAME)).sort()).toEqual(
    ["CHANGELOG.md", "LICENSE", "README.md", "dist", "migrations", "package.json", "wrangler.toml"].sort(),
  );
});

it("serves a project, to the stock client", async () => {
  dev = await startDev(folder, join(folder, "node_modules", NAME, "dist", "cli", "main.js"));
  await dev.says(/Weir listens on/);
  const client = new Client({ apiUrl: dev.url });
  const { thread_id } = await client.threads.create();
  const input = { messages: [{ role: "user", content: "hi" }] };
  const events: string[] = [];
  let last: unknown;
  for await (const { event, data } of client.runs.stream(thread_id, "agent", {
    input,
    streamMode: ["updates", "values"],
  })) {
    events.push(event);
    if (event === "values") last = data;
  }
  expect(events).toEqual(["metadata", "values", "updates", "values"]);
  expect(last).toMatchObject({ messages: [{ content: "hi" }, { content: "Hello from a package" }] });
  const page = await fetch(`${dev.url}/chat`, { headers: { accept: "text/html" } });
  expect(await page.text()).toMatch(/src="\/\.weir\/dev\.js"[\s\S]*<div id="root">/);
});

it("has types that a project's own worker needs", () => {
  writeFiles(folder, {
    "tsconfig.json": {
      compilerOptions: {
        module: "esnext",
        moduleResolution: "bundler",
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        types: [],
        target: "es2024",
      },
      include: ["src"],
    },
    "src/worker.ts": `
      import { createWeir, lazy } from "${NAME}";
      import { graph } from "./graph.ts";
      export { Ledger, Limiter, Thread, ThreadIndex, TraceIndex, TracePartition } from "${NAME}";
      export default createWeir({ graphs: { graph, promised: Promise.resolve(graph), made: () => graph, lazily: lazy("./graph.ts:graph", () => import("./graph.ts")) } });
      // @ts-expect-error -- no graph
      createWeir({ graphs: { graph: 1 } });
    `,
    "src/graph.ts": `
      import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
      export const graph = new StateGraph(MessagesAnnotation).addNode("a", (state) => state).addEdge("__start__", "a").compile();
    `,
  });
  const tsc = join(ROOT, "node_modules", ".bin", "tsc");
  const { stdout, status } = spawnSync(tsc, ["--allowImportingTsExtensions", "-p", folder], { encoding: "utf8" });
  expect({ stdout, status }).toEqual({ stdout: "", status: 0 });
});

/** The steps of docs/quick-start.md, and its messages as the programs print them. The tests follow each other. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { run as deploy } from "../../src/cli/deploy.ts";
import { NAME } from "../../src/cli/project/package.ts";
import { answering, CLI, type RunningDev, startDev, writeFiles } from "../support/project.ts";
import { ACCOUNT, startCloudflareApi, TOKEN } from "./support/cloudflare-api.ts";
import { deployedWorkers } from "./support/deployed.ts";

const ROOT = join(import.meta.dirname, "../..");
const CREATE = join(ROOT, "packages", "create-weir");
const PAGE = readFileSync(join(ROOT, "docs", "quick-start.md"), "utf8");
const blocks = (kind: string) =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${kind}\n([^]*?)^\`\`\`$`, "gm"))].map(([, text = ""]) => text);
/** The graph that a reader adds. */
const ECHO = blocks("ts").find((text) => text.includes("export const graph")) ?? "";

/** The lines of output on the page, as patterns, and whether a program has printed them. */
const lines = new Map(
  blocks("text").flatMap((text) =>
    text
      .trimEnd()
      .split("\n")
      .map((line) => [line.trim(), false]),
  ),
);
const escapeText = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
const toPattern = (line: string) => new RegExp(line.split("…").map(escapeText).join(".*"));

/** The lines of the page that are in the output. */
function onPage(output: string): string[] {
  const found = [...lines.keys()].filter((line) => toPattern(line).test(output));
  for (const line of found) lines.set(line, true);
  return found;
}

let home: string;
let project: string;
let dev: RunningDev;
let client: Client;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "weir-newcomer-"));
  project = join(home, "my-agent");
  spawnSync(process.execPath, [join(CREATE, "template.js")]);
});
afterAll(async () => {
  await dev?.stop();
  rmSync(home, { recursive: true, force: true });
});

interface Outcome {
  output: string;
  status: number | null;
}
/** Runs a program of this repository. `node` is the version that it takes Node for. */
function run(
  program: string,
  argv: string[],
  { node, env = {} }: { node?: string; env?: Record<string, string | undefined> } = {},
): Outcome {
  const versions = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${node}" } })`;
  const flags = node ? ["--import", `data:text/javascript,${encodeURIComponent(versions)}`] : [];
  const own = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, ...env };
  const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, program, ...argv], {
    cwd: home,
    encoding: "utf8",
    env: own,
  });
  return { output: stdout + stderr, status };
}

/** A project beside the first, with these files. */
function createFolder(files: Record<string, string | object>): string {
  const folder = mkdtempSync(join(home, "another-"));
  writeFiles(folder, files);
  return folder;
}

async function streamFirst(assistant: string, mode: "messages-tuple" | "updates"): Promise<string> {
  const input = { messages: [{ role: "user", content: "What is 17 * 24?" }] };
  let text = "";
  for await (const { event, data } of client.runs.stream(null, assistant, { input, streamMode: [mode] }))
    text += `event: ${event}\ndata: ${JSON.stringify(data)}\n`;
  return text;
}

it("Node is too old, for the first command and for each other", () => {
  const creates = run(join(CREATE, "index.js"), ["my-agent"], { node: "20.1.0" });
  expect(creates.output).toMatch(/^Weir needs Node >=22\.\d+\. This is Node 20\.1\.0\. Install/);
  expect(creates.status).toBe(1);
  for (const command of ["dev", "doctor"]) {
    const { output, status } = run(CLI, [command], { node: "20.1.0" });
    expect(onPage(output)).not.toEqual([]);
    expect(status).toBe(1);
  }
});

it("no langgraph.json is there", () => {
  expect(onPage(run(CLI, ["dev"]).output)).not.toEqual([]);
});

it("a new project streams its first token, without a key", async () => {
  expect(run(join(CREATE, "index.js"), ["my-agent", "--no-install"]).status).toBe(0);
  symlinkSync(join(ROOT, "node_modules"), join(project, "node_modules"));
  dev = await startDev(project);
  await dev.says(/Weir listens on/);
  expect(onPage(dev.readPrinted().replace(/:\d+/g, ":8787"))).not.toEqual([]);
  client = new Client({ apiUrl: dev.url });
  expect(await streamFirst("agent", "messages-tuple")).toContain("408");
}, 400_000);

it("a second graph serves once it is in langgraph.json", async () => {
  writeFiles(project, {
    "src/echo.ts": ECHO,
    "src/throws.ts": answering(`(() => { throw new Error("no database"); })()`),
    "src/keyed.ts": answering(
      `await new ChatOpenAI({ model: "gpt-4.1-mini" }).invoke("Hello")`,
      `import { ChatOpenAI } from "@langchain/openai";`,
    ),
    "langgraph.json": {
      graphs: {
        agent: "./src/agent.ts:agent",
        echo: "./src/echo.ts:graph",
        throws: "./src/throws.ts:graph",
        keyed: "./src/keyed.ts:graph",
      },
      env: ".env",
    },
  });
  await expect
    .poll(async () => (await client.assistants.search()).map(({ graph_id }) => graph_id), { timeout: 90_000 })
    .toContain("echo");
  expect(await streamFirst("echo", "updates")).toContain("You said: What is 17 * 24?");
}, 400_000);

it("a graph throws, and a model's key is missing", async () => {
  expect(onPage(await streamFirst("throws", "updates"))).not.toEqual([]);
  expect(onPage(await streamFirst("keyed", "updates"))).not.toEqual([]);
});

it("the state is in use, and the port is taken", async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  const { port } = taken.address() as { port: number };
  const argv = ["dev", project, "--port", String(port)];
  expect(onPage(run(CLI, argv).output)).toEqual([expect.stringContaining("is in use")]);
  expect(onPage(run(CLI, [...argv, "--state", join(home, "other")]).output)).toEqual([
    expect.stringContaining("is taken"),
  ]);
  taken.close();
});

it.each<[string, Record<string, string | object>]>([
  ["a graph's file is missing", { "langgraph.json": { graphs: { absent: "./src/absent.ts:graph" } } }],
  ["an export is missing", { "langgraph.json": { graphs: { echo: "./src/echo.ts:grpah" } }, "src/echo.ts": ECHO }],
  ["a graph is Python", { "langgraph.json": { graphs: { old: "./agent.py:graph" } }, "agent.py": "graph = 1" }],
  [
    "another project's `weir` is installed",
    {
      "langgraph.json": { graphs: { echo: "./echo.ts:graph" } },
      "echo.ts": "export const graph = { invoke() {}, stream() {} };",
      "node_modules/weir/package.json": { version: "0.1.0-beta.4" },
    },
  ],
])("%s: weir doctor says what to do", (_, files) => {
  const { output, status } = run(CLI, ["doctor", createFolder(files)], { env: { CLOUDFLARE_API_TOKEN: undefined } });
  expect(onPage(output.slice(0, output.indexOf("No Cloudflare account")))).not.toEqual([]);
  expect(status).toBe(1);
});

it("a deploy without a login says so", () => {
  expect(
    onPage(
      run(CLI, ["deploy", project], { env: { CLOUDFLARE_API_TOKEN: undefined, CLOUDFLARE_API_KEY: undefined } }).output,
    ),
  ).not.toEqual([]);
}, 400_000);

it("the first deploy shows the address and a key", async () => {
  await dev.stop();
  const api = await startCloudflareApi();
  const { fetch } = deployedWorkers(api);
  const real = globalThis.fetch;
  vi.stubGlobal("fetch", (input: string, init?: RequestInit) =>
    new URL(input).hostname.endsWith(".workers.dev") ? fetch(input, init) : real(input, init),
  );
  vi.stubEnv("CLOUDFLARE_API_BASE_URL", api.url);
  vi.stubEnv("CLOUDFLARE_API_TOKEN", TOKEN);
  vi.stubEnv("CLOUDFLARE_ACCOUNT_ID", ACCOUNT);
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  try {
    expect(await deploy([project])).toBe(0);
    const said = log.mock.calls.flat().join("\n");
    expect(said).toContain("https://my-agent.stand-in.workers.dev");
    expect(said).toContain("weir_key_of_my-agent.stand-in.workers.dev");
  } finally {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
    vi.unstubAllEnvs();
    await api.close();
  }
}, 400_000);

it("each line of output on the page was printed", () => {
  expect([...lines].filter(([, printed]) => !printed).map(([line]) => line)).toEqual([]);
  expect(PAGE).toContain(`install --save-dev ${NAME}`);
});

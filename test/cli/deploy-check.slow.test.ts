/** `weir deploy --check` beside a server on which a thread waits: an earlier version of the project, as a person deploys it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { run as deploy } from "../../src/cli/deploy.ts";
import { newProject, type RunningDev, startDev, type TestProject } from "../support/project.ts";

/** Asks before it answers. `more`: other exports of the module. */
const renderAsking = (node: string, more = "") => `
import { AIMessage } from "@langchain/core/messages";
import { interrupt, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
export const graph = new StateGraph(MessagesAnnotation)
  .addNode("${node}", () => ({ messages: [new AIMessage("Hello " + interrupt("Who is there?"))] }))
  .addEdge("__start__", "${node}")
  .addEdge("${node}", "__end__")
  .compile();
${more}`;
const files = (node: string, more?: string) => ({
  "package.json": { name: "asking", type: "module" },
  "langgraph.json": { graphs: { agent: "./agent.ts:graph" }, auth: { path: "./auth.ts:auth" } },
  "agent.ts": renderAsking(node, more),
  "auth.ts": `
import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth";
export const auth = new Auth().authenticate(async (request) => {
  if (request.headers.get("authorization") !== "Bearer ada") throw new HTTPException(401, { message: "nobody" });
  return { identity: "ada", permissions: [] };
});`,
});

const projects: TestProject[] = [];
const project = (node: string, more?: string): TestProject => {
  const made = newProject(files(node, more));
  projects.push(made);
  return made;
};

let dev: RunningDev;
let thread: string;
beforeAll(async () => {
  const { root } = project("ask", `export const version = "1";`);
  dev = await startDev(root);
  await dev.says(/Weir listens on/);
  const client = new Client({ apiUrl: dev.url, defaultHeaders: { authorization: "Bearer ada" } });
  ({ thread_id: thread } = await client.threads.create());
  await client.runs.wait(thread, "agent", { input: { messages: [] } });
  const secrets = readFileSync(join(root, ".weir", "state", "secrets.json"), "utf8");
  vi.stubEnv("WEIR_URL", dev.url);
  vi.stubEnv("WEIR_ADMIN_KEY", (JSON.parse(secrets) as { WEIR_ADMIN_KEY: string }).WEIR_ADMIN_KEY);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await dev.stop();
  for (const one of projects) one.remove();
});

/** Its exit code and what it prints. */
async function check({ root }: TestProject) {
  const lines: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  try {
    return { code: await deploy([root, "--check"]), said: lines.join("\n") };
  } finally {
    log.mockRestore();
  }
}

it("names the thread that waits at a node which the new graph does not have, and fails", async () => {
  const { code, said } = await check(project("approve"));
  expect(said).toMatch(/graph +agent +1 waiting, 1 cannot continue/);
  expect(said).toContain(`${thread}  node "ask" is gone`);
  expect(code).toBe(1);
});

it("succeeds when the graph has the node, and when a migration takes the state", async () => {
  expect(await check(project("ask"))).toMatchObject({ code: 0, said: expect.stringContaining("0 cannot continue") });
  const migration = `export const migrations = [{ from: "1", migrate: () => ({ next: ["approve"] }) }];`;
  const { code, said } = await check(project("approve", migration));
  expect(said).toMatch(/1 waiting, 0 cannot continue, 1 will be migrated/);
  expect(code).toBe(0);
});

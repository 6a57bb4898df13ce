/** `weir dev` that is killed, and the next one in the same folder. The tests follow each other. */
import { existsSync, readFileSync } from "node:fs";
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

let project: TestProject;
let dev: RunningDev;
beforeAll(async () => {
  project = newProject({
    "langgraph.json": { graphs: { agent: "./src/agent.ts:graph" } },
    "src/agent.ts": answering(`"first"`),
  });
  dev = await startDev(project.root);
  await dev.says(/Weir listens on/);
});
afterAll(async () => {
  await dev.stop("SIGKILL");
  project.remove();
});

async function answer(): Promise<string | undefined> {
  const client = new Client({ apiUrl: dev.url, callerOptions: { maxRetries: 0 } });
  const values = (await client.runs.wait(null, "agent", { input: { messages: [] } })) as {
    messages: { content: string }[];
  };
  return values.messages.at(-1)?.content;
}

const readCommand = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, "utf8");

/** Kills the workerd of `weir dev`, and waits until it has ended: threads of a zombie may still accept connections. */
async function killWorkerd(): Promise<void> {
  const findWorkerd = () => descendants(dev.pid).filter((pid) => readCommand(pid).includes("workerd\0serve"));
  await expect.poll(findWorkerd, { timeout: 20_000 }).toHaveLength(1);
  const [pid = 0] = findWorkerd();
  process.kill(pid, "SIGKILL");
  await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 20_000 }).toBe(false);
}

it("answers the next request when its workerd is killed", async () => {
  await killWorkerd();
  expect(await answer()).toBe("first");
});

it("leaves no process behind when it is killed itself", async () => {
  const started = descendants(dev.pid).filter((pid) => /workerd|main.ts/.test(readCommand(pid)));
  expect(started.length).toBeGreaterThan(0);
  await dev.stop("SIGKILL");
  const left = () => listProcesses().filter(({ pid }) => started.includes(pid));
  await expect.poll(left, { timeout: 20_000 }).toEqual([]);
});

it("serves again after that, and follows changes", async () => {
  dev = await startDev(project.root);
  await dev.says(/Weir listens on/);
  expect(await answer()).toBe("first");
  project.write("src/agent.ts", answering(`"second"`));
  await expect.poll(answer, { timeout: 60_000, interval: 500 }).toBe("second");
});

it("ends with a message when workerd ends again and again", async () => {
  const ended = dev.says(/cannot be kept running/);
  for (let times = 1; times < 5; times++) {
    await killWorkerd();
    expect(await answer()).toBe("second");
  }
  await killWorkerd();
  await ended;
  expect(await dev.ended).toBe(1);
});

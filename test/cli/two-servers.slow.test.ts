/** `weir dev` and `npm start` on folders that others serve. The tests follow each other. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { quietPort } from "../support/ports.ts";
import { answering, CLI, newProject, type RunningDev, startDev, type TestProject } from "../support/project.ts";

const START = join(import.meta.dirname, "../../scripts/start.ts");

let project: TestProject;
let state: string;
let other: string;
let dev: RunningDev;
beforeAll(() => {
  project = newProject({
    "langgraph.json": { graphs: { agent: "./agent.ts:graph" } },
    "agent.ts": answering(`"hello"`),
  });
  state = join(project.root, ".weir", "state");
  other = join(project.root, "other");
});
afterAll(async () => {
  await dev?.stop("SIGKILL");
  project.remove();
});

it("one of two that start at the same moment serves, and names itself to the other", async () => {
  const both = await Promise.all([startDev(project.root), startDev(project.root)]);
  const refused = await Promise.race(both.map((one) => one.ended.then(() => one)));
  dev = both.find((one) => one !== refused) as RunningDev;
  expect(refused.readPrinted()).toContain(`${state} is in use: process ${dev.pid} serves it on ${dev.url}.`);
  expect(await refused.ended).toBe(1);
  await dev.says(/Weir listens on/);
});

it("serves the same project beside it with another folder", async () => {
  const second = await startDev(project.root, CLI, ["--state", other]);
  await second.says(/Weir listens on/);
  const made = await Promise.all(
    [dev, second].map(({ url }) => fetch(`${url}/threads`, { method: "POST", body: "{}" })),
  );
  expect(made.map(({ status }) => status)).toEqual([200, 200]);
  for (const folder of [state, other]) expect(existsSync(join(folder, "v3", "do"))).toBe(true);
  expect(await second.stop()).toBe(0);
});

it("is refused the folder that `npm start` serves", async () => {
  const demo = spawn(process.execPath, [START, "--state", other, "--port", String(await quietPort())]);
  const ended = once(demo, "exit");
  const isOwner = () =>
    readdirSync(other).some(
      (name) => name.startsWith("owner.") && readFileSync(join(other, name), "utf8").includes(`:${demo.pid},`),
    );
  await expect.poll(isOwner).toBe(true);
  const second = await startDev(project.root, CLI, ["--state", other]);
  expect(await second.ended).toBe(1);
  expect(second.readPrinted()).toContain(`${other} is in use: process ${demo.pid} serves it`);
  demo.kill("SIGKILL");
  await ended;
});

it.each(["SIGINT", "SIGTERM", "SIGKILL"] as const)("leaves the folder to the next one after %s", async (signal) => {
  expect(await dev.stop(signal)).toBe(signal === "SIGKILL" ? null : 0);
  dev = await startDev(project.root);
  await dev.says(/Weir listens on/);
});

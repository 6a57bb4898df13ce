/** The page of a deployment whose routes are under a path. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildPage } from "../../scripts/build-page.ts";
import { generate } from "../../src/cli/project/generate.ts";
import { PAGE } from "../../src/cli/project/package.ts";
import { findProject } from "../../src/cli/project/project.ts";
import { answering, newProject, type RunningDev, startDev, type TestProject } from "../support/project.ts";

let made: TestProject;
let dev: RunningDev | undefined;
beforeAll(() => {
  buildPage();
  made = newProject({
    "langgraph.json": { graphs: { agent: "./agent.ts:graph" }, http: { mount_prefix: "/agents/" } },
    "agent.ts": answering(`"hello"`),
  });
});
afterAll(async () => {
  await dev?.stop();
  made.remove();
});

it("is a copy that says where the API is", async () => {
  const project = await findProject(made.root);
  const { assets } = (await generate(project)).wrangler as {
    assets: { directory: string; run_worker_first: string[] };
  };
  const folder = resolve(project.weirDir, assets.directory);
  expect(folder).toBe(join(project.weirDir, "web"));
  expect(readFileSync(join(folder, "index.html"), "utf8")).toContain('name="weir-mount-prefix" content="/agents"');
  expect(readFileSync(join(PAGE, "index.html"), "utf8")).not.toContain("weir-mount-prefix");
  expect(existsSync(join(folder, "favicon.svg"))).toBe(true);
  expect(assets.run_worker_first).toContain("/agents/threads/*");
});

it("and weir dev serves it at the root, with the API under the path", async () => {
  dev = await startDev(made.root);
  await dev.says(/Weir listens on/);
  expect(dev.readPrinted()).toContain(`curl -N ${dev.url}/agents/threads/`);
  const page = await fetch(dev.url, { headers: { accept: "text/html" } });
  expect(await page.text()).toContain('content="/agents"');
  expect((await fetch(`${dev.url}/agents/ok`)).status).toBe(200);
  expect((await fetch(`${dev.url}/ok`)).status).toBe(404);
});

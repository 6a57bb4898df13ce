/** examples/starter, and what `npm create weir` makes of it. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HumanMessage } from "@langchain/core/messages";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { agent } from "../../examples/starter/src/agent.ts";
import { chatModel } from "../../examples/starter/src/model.ts";
import { generate, nameResources } from "../../src/cli/project/generate.ts";
import { MODULES, NAME } from "../../src/cli/project/package.ts";
import { findProject } from "../../src/cli/project/project.ts";
import { readWranglerFile, type WranglerConfig } from "../../src/cli/project/wrangler-config.ts";
import { startFakeOpenAI } from "../support/fake-openai.ts";

const ROOT = join(import.meta.dirname, "../..");
const STARTER = join(ROOT, "examples", "starter");
const CREATE = join(ROOT, "packages", "create-weir");

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "weir-starter-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A copy of the starter whose wrangler.jsonc is this, and the configuration that is generated for it. */
async function generateFrom(wrangler: WranglerConfig): Promise<WranglerConfig> {
  cpSync(join(STARTER, "langgraph.json"), join(folder, "langgraph.json"));
  cpSync(join(STARTER, "src"), join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "wrangler.jsonc"), JSON.stringify(wrangler));
  return (await generate(await findProject(folder))).wrangler;
}

describe("the committed wrangler.jsonc", () => {
  test("names the resources that would be generated", async () => {
    const committed = readWranglerFile(join(STARTER, "wrangler.jsonc"));
    const { d1_databases: _d1, r2_buckets: _r2, queues: _queues, ...own } = committed;
    expect(Object.keys(committed)).toHaveLength(Object.keys(own).length + 3);
    expect(await generateFrom(committed)).toEqual(await generateFrom(own));
  });

  test("may give bindings of Weir's other resources, and all that depends on them follows", async () => {
    const { queues, vars, r2_buckets, d1_databases } = await generateFrom({
      name: "agent",
      d1_databases: [
        { binding: "DB", database_name: "made-by-hand", database_id: "6a2bc0de-0000-4000-8000-000000000000" },
      ],
      r2_buckets: [{ binding: "EXPORTS_BUCKET", bucket_name: "lake" }],
      queues: { producers: [{ binding: "CRON_QUEUE", queue: "ticks" }] },
    });
    expect(queues).toMatchObject({
      producers: expect.arrayContaining([expect.objectContaining({ queue: "ticks" })]),
      consumers: expect.arrayContaining([expect.objectContaining({ queue: "ticks" })]),
    });
    expect(r2_buckets).toMatchObject([{ bucket_name: "agent-blobs" }, { bucket_name: "lake" }]);
    expect(vars).toEqual({ EXPORTS_BUCKET_NAME: "lake" });
    expect(d1_databases).toMatchObject([{ database_name: "made-by-hand", database_id: expect.any(String) }]);
  });

  test("every name that is generated comes from nameResources, rate limits included", async () => {
    const { name, rateLimits, queues, buckets, databases } = { name: "agent", ...nameResources("agent") };
    const config = JSON.stringify(await generateFrom({ name }));
    const names = [rateLimits, queues, buckets, databases].flatMap((one) => Object.values(one));
    for (const one of names) expect(config).toContain(`"${one}"`);
    expect(config).not.toMatch(/"weir(-\w+)?"/);
  });
});

describe("the agent", () => {
  const ai = {
    asked: [] as string[],
    async run(model: string) {
      ai.asked.push(model);
      return { response: "From Workers AI." };
    },
  };
  const answer = async (env: Parameters<typeof agent>[1]) =>
    (await agent({}, env).invoke({ messages: [new HumanMessage("What is 17 * 24?")] })).messages;

  test("answers offline without a key and without bindings, with its tools", async () => {
    const messages = await answer({});
    expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
    expect(messages.at(-1)?.text).toContain("408");
  });

  test("answers with Workers AI where the binding is, and no key", async () => {
    ai.asked.length = 0;
    expect((await answer({ AI: ai, OPENAI_API_KEY: "" })).at(-1)?.text).toBe("From Workers AI.");
    expect((await answer({ AI: ai, WORKERS_AI_MODEL: "workers-ai:@cf/openai/gpt-oss-120b" })).at(-1)?.text).toBe(
      "From Workers AI.",
    );
    expect(ai.asked).toEqual(["@cf/meta/llama-3.3-70b-instruct-fp8-fast", "@cf/openai/gpt-oss-120b"]);
  });

  test("a key for another provider overrides the binding", async () => {
    const openai = await startFakeOpenAI();
    ai.asked.length = 0;
    const env = { AI: ai, OPENAI_API_KEY: "sk-x", OPENAI_BASE_URL: openai.baseUrl, OPENAI_MODEL: "gpt-x" };
    for await (const _ of await chatModel(env).stream("Hello"));
    openai.stop();
    expect(openai.asked).toMatchObject([{ authorization: "Bearer sk-x", body: { model: "gpt-x" } }]);
    expect(ai.asked).toEqual([]);
  });
});

describe("npm create weir", () => {
  const create = (...argv: string[]) =>
    spawnSync(process.execPath, [join(CREATE, "index.js"), ...argv], { cwd: folder, encoding: "utf8" });
  beforeEach(() => {
    spawnSync(process.execPath, [join(CREATE, "template.js")]);
  });

  test("makes a project of its own name, ready to run", async () => {
    const { status, stdout } = create("My Agent", "--no-install");
    expect(status).toBe(0);
    expect(stdout).toMatch(/cd My Agent\n +npm install\n +npm run dev/);
    const made = join(folder, "My Agent");
    expect(JSON.parse(readFileSync(join(made, "package.json"), "utf8"))).toMatchObject({ name: "my-agent" });
    expect(readWranglerFile(join(made, "wrangler.jsonc"))).toEqual({
      $schema: "node_modules/wrangler/config-schema.json",
      name: "my-agent",
      compatibility_date: expect.any(String),
      ai: { binding: "AI" },
    });
    expect(readFileSync(join(made, ".gitignore"), "utf8")).toContain(".env");
    for (const file of [".env", "README.md", "src/agent.ts", "test/agent.test.ts"])
      expect(existsSync(join(made, file))).toBe(true);
    expect(existsSync(join(made, "gitignore"))).toBe(false);
    const { wrangler } = await generate(await findProject(made));
    expect(wrangler.name).toBe("my-agent");
  });

  test("takes a name, and writes into an empty folder only", () => {
    expect(create(".", "--name", "billing", "--no-install").status).toBe(0);
    expect(readWranglerFile(join(folder, "wrangler.jsonc"))).toMatchObject({ name: "billing" });
    const again = create(".", "--no-install");
    expect(again.status).toBe(1);
    expect(again.stderr).toMatch(/is not empty. Name another folder/);
    expect(create("--unknown").stderr).toMatch(/Unknown option '--unknown'/);
  });
});

test("the package exports what its bundles resolve", () => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    exports: Record<string, unknown>;
  };
  const named = Object.keys(exports).filter((name) => name !== "./package.json");
  expect(named.map((name) => name.replace(/^\./, NAME)).sort()).toEqual(Object.keys(MODULES).sort());
});

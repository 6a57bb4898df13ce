/** An edit under `weir dev` is served by the running workerd, and by a new one where it has to be. */
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { isReplaceable } from "../../src/cli/dev/entry.ts";
import { answering, descendants, newProject, type RunningDev, startDev, type TestProject } from "../support/project.ts";
import { readFileSync } from "node:fs";

/** Counts how often it has been loaded in this isolate. */
const COUNTED = `globalThis.loads = (globalThis.loads ?? 0) + 1;`;
const config = (more: object = {}) => ({ graphs: { agent: "./agent.ts:graph", slow: "./slow.ts:graph" }, ...more });
const renderSlow = (word: string) =>
  answering(
    `await (async () => { for (let n = 0; n < 20; n++) { await new Promise((r) => setTimeout(r, 100)); config.writer?.(n); } return "${word}"; })()`,
  );

let project: TestProject;
let dev: RunningDev;
let client: Client;
beforeAll(async () => {
  project = newProject({
    "package.json": { name: "edited", type: "module" },
    "langgraph.json": config(),
    "agent.ts": answering(`"first " + globalThis.loads`, COUNTED),
    "slow.ts": renderSlow("old"),
    "auth.ts": `
      import { Auth, HTTPException } from "@langchain/langgraph-sdk/auth";
      export const auth = new Auth().authenticate(async () => { throw new HTTPException(401, { message: "nobody" }); });`,
    "node_modules/registry/package.json": { name: "registry", main: "index.js" },
    "node_modules/registry/index.js": `
      const names = new Set();
      exports.register = (name) => { if (names.has(name)) throw new Error(name + " is registered"); names.add(name); };`,
  });
  dev = await startDev(project.root);
  await dev.says(/Weir listens on/);
  client = new Client({ apiUrl: dev.url, callerOptions: { maxRetries: 0 } });
});
afterAll(async () => {
  await dev.stop();
  project.remove();
});

async function answer(graph = "agent"): Promise<string> {
  const values = await client.runs.wait(null, graph, { input: { messages: [] } }).catch((error: Error) => error);
  if (values instanceof Error) return values.message;
  return (values as { messages?: { content: string }[] }).messages?.at(-1)?.content ?? JSON.stringify(values);
}
const PATIENCE = { timeout: 60_000, interval: 50 };
const workerd = () =>
  descendants(dev.pid).filter((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("\0serve\0"));
/** Writes the file, and waits for the answer. */
async function expectEdited(file: string, content: string | object, expected: string | RegExp): Promise<void> {
  project.write(file, content);
  await expect.poll(async () => answer(), PATIENCE).toMatch(expected);
}

it("replaces the code in the running workerd, where a run ends with the code that it began with", async () => {
  expect(await answer()).toBe("first 1");
  const before = workerd();
  expect(before).toHaveLength(1);
  const stream = client.runs.stream(null, "slow", { input: { messages: [] }, streamMode: ["custom", "values"] });
  const seen: unknown[] = [];
  for await (const { event, data } of stream) {
    seen.push(event === "values" ? (data as { messages: { content: string }[] }).messages.at(-1)?.content : data);
    if (seen.at(-1) !== 1) continue;
    project.write("slow.ts", renderSlow("new"));
    await expectEdited("agent.ts", answering(`"second " + globalThis.loads`, COUNTED), "second 2");
  }
  expect(seen.at(-1)).toBe("old");
  expect(seen).toEqual(expect.arrayContaining([0, 10, 19]));
  expect(await answer("slow")).toBe("new");
  expect(workerd()).toEqual(before);
});

it("removes a graph and an auth that langgraph.json no longer has", async () => {
  await expectEdited("langgraph.json", config({ auth: { path: "./auth.ts:auth" } }), /401.*nobody/);
  const before = workerd();
  await expectEdited("langgraph.json", { graphs: { agent: "./agent.ts:graph" } }, /^second/);
  expect(await answer("slow")).toContain("404");
  expect(workerd()).toEqual(before);
});

it("removes settings and a default assistant that langgraph.json no longer has", async () => {
  const createExpiring = async (key: string) => {
    await client.store.putItem(["expiry"], key, { is: "stored" });
    const { thread_id } = await client.threads.create();
    const answered = await fetch(`${dev.url}/threads/${thread_id}?include=ttl`);
    const { ttl } = await answered.json<{ ttl?: object }>();
    const item = await client.store.getItem(["expiry"], key);
    return { thread: ttl !== undefined, item: item === null };
  };
  // A ten-thousandth of a minute is over before the item is read.
  const store = { ttl: { default_ttl: 0.0001 } };
  const before = workerd();
  project.write("langgraph.json", config({ store, checkpointer: { ttl: { default_ttl: 1_000 } } }));
  await expect.poll(async () => answer("slow"), PATIENCE).toMatch(/^(old|new)$/);
  expect(await createExpiring("with")).toEqual({ thread: true, item: true });
  const [found] = await client.assistants.search({ graphId: "slow" });
  const id = found?.assistant_id ?? "";
  expect(await client.assistants.get(id)).toMatchObject({ graph_id: "slow" });

  project.write("langgraph.json", { graphs: { agent: "./agent.ts:graph" } });
  await expect.poll(async () => answer("slow"), PATIENCE).toContain("404");
  expect(await createExpiring("without")).toEqual({ thread: false, item: false });
  await client.assistants.delete(id);
  await expect(client.assistants.get(id)).rejects.toThrow("404");
  expect(workerd()).toEqual(before);
});

it("starts workerd again for code that packages in memory refuse, and for a file beside the bundle", async () => {
  const before = workerd();
  const renderRegistered = (word: string) =>
    answering(`"${word} " + globalThis.loads`, `import { register } from "registry"; register("tool");\n${COUNTED}`);
  await expectEdited("agent.ts", renderRegistered("third"), "third 1");
  await expectEdited("agent.ts", renderRegistered("fourth"), "fourth 1");
  expect(workerd()).not.toEqual(before);
  const reading = answering(
    "text",
    `import { readFileSync } from "node:fs";\nconst text = readFileSync(new URL("./prompt.md", import.meta.url), "utf8");`,
  );
  project.write("prompt.md", "be kind");
  await expectEdited("agent.ts", reading, "be kind");
  await expectEdited("prompt.md", "be brief", "be brief");
});

it("serves the newest code when workerd has ended by itself", async () => {
  await expectEdited("agent.ts", answering(`"fifth " + globalThis.loads`, COUNTED), /^fifth/);
  await expectEdited("agent.ts", answering(`"sixth " + globalThis.loads`, COUNTED), "sixth 2");
  for (const pid of workerd()) process.kill(pid, "SIGKILL");
  await expect.poll(async () => answer(), PATIENCE).toBe("sixth 1");
});

it("replaces only a bundle whose classes are Weir's", () => {
  expect(isReplaceable(["Ledger", "Limiter", "Thread", "ThreadIndex", "TraceIndex", "TracePartition", "default"])).toBe(
    true,
  );
  expect(
    isReplaceable(["Counter", "Ledger", "Limiter", "Thread", "ThreadIndex", "TraceIndex", "TracePartition", "default"]),
  ).toBe(false);
});

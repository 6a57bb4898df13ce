/** `weir threads` against a running server: what it prints and refuses. */
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { run } from "../../src/cli/threads.ts";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { runPrinted } from "./support/printed.ts";

let server: TestServer;
let said: string;
let failed: string;
let waiting: string;
beforeAll(async () => {
  server = await sharedServer();
  const client = new Client({ apiUrl: server.url, apiKey: server.key });
  const wait = async (assistant: string, content: unknown, metadata = {}) => {
    const { thread_id } = await client.threads.create({ metadata });
    await client.runs.wait(thread_id, assistant, {
      input: { messages: [{ role: "user", content }] },
      raiseError: false,
    });
    return thread_id;
  };
  said = await wait("echo", "hello", { customer: "c-1" });
  failed = await wait("echo", 5);
  waiting = await wait("approval", "send it");
});
afterAll(() => server.stop());
beforeEach(() => void vi.stubEnv("WEIR_API_KEY", server.key));
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

/** Runs `weir threads` at the server and gives what it printed. */
async function threads(...argv: string[]): Promise<string> {
  const [code, printed] = await runPrinted(() => run([...argv, "--url", server.url]));
  expect(code).toBe(0);
  return printed;
}
const ids = async (...argv: string[]) =>
  (JSON.parse(await threads("list", "--json", ...argv)) as { thread_id: string }[]).map(({ thread_id }) => thread_id);

test("list shows the threads that changed last, and narrows", async () => {
  expect(await ids()).toEqual([waiting, failed, said]);
  expect(await ids("--status", "error")).toEqual([failed]);
  expect(await ids("--metadata", "customer=c-1")).toEqual([said]);
  expect(await ids("--search", "hello")).toEqual([said]);
  expect(await ids("--since", "1h")).toHaveLength(3);
  expect(await ids("--until", "1h")).toEqual([]);
  expect(await threads("list", "--limit", "1")).toMatch(
    new RegExp(`interrupted  ${waiting}  approval.*\nThere are more than 1`),
  );
});

test("show prints the state bounded, its error and what it waits for", async () => {
  expect(await threads("show", said)).toContain("You said: hello");
  expect(await threads("show", said, "--chars", "10")).toMatch(/messages:\n.*\n  … \d+ more characters/s);
  expect(await threads("show", failed)).toMatch(/\nerror: \w+/);
  expect(await threads("show", waiting)).toContain("waits for an answer to:");
  expect(JSON.parse(await threads("show", said, "--json"))).toMatchObject({ thread_id: said, status: "idle" });
});

test("history and runs list checkpoints and runs, newest first", async () => {
  const history = (await threads("history", said)).split("\n");
  expect(history[0]).toMatch(/step \d+ \(loop\)  end$/);
  expect(history.at(-1)).toContain("step -1 (input)");
  expect(await threads("history", waiting)).toContain("waits for an answer");
  const first = await threads("history", said, "--limit", "1");
  const [, id = ""] = /--before (\S+) shows/.exec(first) ?? [];
  expect(await threads("history", said, "--before", id)).toBe(history.slice(1).join("\n"));
  expect(JSON.parse(await threads("history", said, "--json"))[0]).toHaveProperty("values.messages");
  expect(await threads("runs", failed)).toMatch(/error {8}[\da-f-]{36}/);
});

test.each([
  [["show", crypto.randomUUID()], /status 404: Thread/],
  [["show", "no-id"], /status 422/],
  [["history"], /weir threads list/],
  [["list", "--status", "lost"], /status 422/],
  [["list", "--metadata", "customer"], /--metadata is "customer"\. Give <key>=<value>/],
  [["list", "--limit", "5000"], /--limit is "5000"/],
])("weir threads %j is refused with a sentence", async (argv, sentence) => {
  await expect(run([...argv, "--url", server.url])).rejects.toThrow(sentence);
});

test("another workspace, a wrong key and no key read no thread", async () => {
  vi.stubEnv("WEIR_API_KEY", (await server.startAnother()).key);
  await expect(run(["show", said, "--url", server.url])).rejects.toThrow(/status 404/);
  expect(await ids()).toEqual([]);
  vi.stubEnv("WEIR_API_KEY", "weir_key_wrong");
  await expect(run(["list", "--url", server.url])).rejects.toThrow(/status 401/);
  vi.stubEnv("WEIR_API_KEY", undefined);
  vi.stubEnv("WEIR_ADMIN_KEY", undefined);
  await expect(run(["list", "--url", server.url])).rejects.toThrow(/status 401/);
});

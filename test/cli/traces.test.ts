/** `weir traces` against a running server: what it prints, writes and refuses. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { run } from "../../src/cli/traces.ts";
import { readCount, readTime } from "../../src/cli/console.ts";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { runPrinted } from "./support/printed.ts";

let server: TestServer;
let folder: string;
/** A trace that failed in a tool, one that did not, and one of yesterday's hours. */
let failed: Sent;
let tool: Sent;
let good: Sent;
beforeAll(async () => {
  server = await sharedServer();
  folder = mkdtempSync(join(tmpdir(), "weir-traces-"));
  const now = Date.now();
  failed = createSent(now - 60_000, {
    name: "agent",
    inputs: { question: "capital of France" },
    error: "KeyError: city",
  });
  tool = createSent(now - 59_000, { name: "look_up", run_type: "tool", error: "KeyError: city" }, failed);
  good = createSent(now - 30_000, { name: "agent", inputs: { question: "two and two" }, outputs: { answer: "4" } });
  const old = createSent(now - 5 * 3_600_000, { name: "early", inputs: {}, outputs: {} });
  await post([failed, tool, good, old]);
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server.stop();
});
beforeEach(() => void vi.stubEnv("WEIR_API_KEY", server.key));
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

interface Sent {
  id: string;
  trace_id: string;
  dotted_order: string;
  [field: string]: unknown;
}

function createSent(start: number, more: Record<string, unknown>, parent?: Sent): Sent {
  const id = crypto.randomUUID();
  const time = new Date(start).toISOString();
  const own = `${time.replaceAll(/[-:.]/g, "").slice(0, -1)}000Z${id}`;
  return {
    id,
    trace_id: parent?.trace_id ?? id,
    ...(parent && { parent_run_id: parent.id }),
    dotted_order: parent ? `${parent.dotted_order}.${own}` : own,
    run_type: "chain",
    start_time: time,
    end_time: new Date(start + 1_500).toISOString(),
    session_name: "cli",
    ...more,
  };
}

async function post(runs: Sent[]): Promise<void> {
  const headers = { ...server.headers, "content-type": "application/json" };
  const body = JSON.stringify({ post: runs });
  const answer = await fetch(`${server.url}/api/v1/runs/batch`, { method: "POST", headers, body });
  expect(answer.status).toBe(202);
}

/** Runs `weir traces` at the server and gives what it printed. */
async function traces(...argv: string[]): Promise<string> {
  const [code, printed] = await runPrinted(() => run([...argv, "--url", server.url]));
  expect(code).toBe(0);
  return printed;
}
const project = ["--project", "cli"];

test("list shows roots of the last day, and narrows by failure, time, filter, words and number", async () => {
  const all = (await traces("list", ...project)).split("\n");
  expect(all).toHaveLength(3);
  expect(all[0]).toMatch(new RegExp(`success  ${good.id}  agent  1\\.5 s  two and two$`));
  expect(all[1]).toMatch(new RegExp(`error    ${failed.id}  agent  1\\.5 s  error: KeyError: city$`));
  const ids = async (...argv: string[]) => {
    const rows = JSON.parse(await traces("list", ...project, "--json", ...argv)) as { id: string }[];
    return rows.map(({ id }) => id);
  };
  expect(await ids("--errors")).toEqual([failed.id]);
  expect(await ids("--errors", "--all-runs")).toEqual([tool.id, failed.id]);
  expect(await ids("--since", "1h")).toEqual([good.id, failed.id]);
  expect(await ids("--until", "2h")).toHaveLength(1);
  expect(await ids("--search", "capital of")).toEqual([failed.id]);
  expect(await ids("--search", "capital of", "--filter", 'eq(status, "success")')).toEqual([]);
  expect(await traces("list", ...project, "--limit", "1")).toMatch(/\nThere are more than 1\. /);
});

test("show prints the tree, what failed, and the values of the root, bounded", async () => {
  const shown = await traces("show", failed.id, "--chars", "8");
  expect(shown).toMatch(new RegExp(`^agent  chain  error  1\\.5 s  ${failed.id}\n`));
  expect(shown).toMatch(new RegExp(`\n  look_up  tool  error  1\\.5 s  ${tool.id}\n {6}KeyError: city\n`));
  expect(shown).toContain("error:\n  KeyError\n  … 6 more characters");
  expect(await traces("show", tool.id)).toContain(`agent  chain  error  1.5 s  ${failed.id}`);
  expect(await traces("show", failed.id, "--limit", "1")).toContain("… more than 1 runs.");
  expect(await traces("show", good.id, "--run", good.id)).toContain('"answer": "4"');
  expect(JSON.parse(await traces("show", failed.id, "--json"))).toMatchObject({
    trace_id: failed.id,
    runs: [{ id: failed.id }, { id: tool.id, parent_run_ids: [failed.id] }],
    more: false,
  });
});

test("what a trace holds cannot write to the terminal", async () => {
  const hostile = "\u001b]0;title\u0007 \u009b31m red";
  const one = createSent(Date.now() - 1_000, {
    session_name: "hostile",
    name: hostile,
    inputs: { hostile },
    error: hostile,
  });
  await post([one]);
  const calls = [
    ["list", "--project", "hostile"],
    ["list", "--project", "hostile", "--json"],
    ["show", one.id],
    ["show", one.id, "--json"],
    ["export", "--project", "hostile"],
  ];
  for (const argv of calls) {
    const printed = await traces(...argv);
    expect(printed).toContain("31m red");
    // oxlint-disable-next-line no-control-regex
    expect(printed).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  }
  // JSON is whole.
  expect(JSON.parse(await traces("show", one.id, "--run", one.id, "--json"))).toMatchObject({ inputs: { hostile } });
});

test("export writes a line for each run with its inputs and outputs", async () => {
  const file = join(folder, "runs.jsonl");
  expect(await traces("export", ...project, "--all-runs", "--out", file)).toBe("4 runs.");
  const runs = readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: string; outputs: unknown });
  expect(runs.find(({ id }) => id === good.id)?.outputs).toEqual({ answer: "4" });
  expect(await traces("export", ...project, "--limit", "1")).toMatch(/^\{.*\}\n1 runs\. There are more/);
  await expect(run(["export", ...project, "--out", folder, "--url", server.url])).rejects.toThrow(/cannot be written/);
});

test("tail shows what ended before, then each trace once when it ends", async () => {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  const stop = new AbortController();
  let named = 0;
  const countNamed: typeof fetch = async (input, init) => {
    if (input === `${server.url}/api/v1/sessions?name=cli`) named++;
    return fetch(input, init);
  };
  const tailing = run(["tail", ...project, "--limit", "1", "--url", server.url], countNamed, stop.signal);
  await expect.poll(() => lines, { timeout: 10_000 }).toHaveLength(1);
  expect(lines[0]).toContain(good.id);
  const open = createSent(Date.now() - 5_000, { name: "open", inputs: {}, end_time: undefined });
  const next = createSent(Date.now() - 2_000, { name: "next", inputs: {}, outputs: {} });
  await post([open, next]);
  await expect.poll(() => lines, { timeout: 10_000 }).toHaveLength(2);
  const headers = { ...server.headers, "content-type": "application/json" };
  const body = JSON.stringify({ outputs: {}, end_time: new Date().toISOString() });
  await fetch(`${server.url}/api/v1/runs/${open.id}`, { method: "PATCH", headers, body });
  await expect.poll(() => lines, { timeout: 10_000 }).toHaveLength(3);
  stop.abort();
  expect(await tailing).toBe(0);
  expect(named).toBe(1);
  expect([lines[1], lines[2]]).toEqual([expect.stringContaining(next.id), expect.stringContaining(open.id)]);
});

test.each([
  [["list", "--project", "absent"], /There is no project "absent"\. There is .*"cli"/],
  [["list", ...project, "--filter", "eq(name"], /status 400: /],
  [["list", ...project, "--limit", "0"], /--limit is "0"\. Give a whole number, 1 to 1000/],
  [["list", ...project, "--since", "soon"], /--since is "soon"\. Give a time such as/],
  [["show", crypto.randomUUID()], /status 404: Run not found/],
  [["show", "no-id"], /status 422/],
  [["show"], /weir traces show <trace id>/],
  [["delete"], /weir traces list/],
])("weir traces %j is refused with a sentence", async (argv, sentence) => {
  await expect(run([...argv, "--url", server.url])).rejects.toThrow(sentence);
});

test("without a key, with a wrong one and in another workspace nothing is shown", async () => {
  const other = await server.startAnother();
  vi.stubEnv("WEIR_API_KEY", other.key);
  await expect(run(["show", failed.id, "--url", server.url])).rejects.toThrow(/status 404/);
  vi.stubEnv("WEIR_API_KEY", "weir_key_wrong");
  await expect(run(["list", "--url", server.url])).rejects.toThrow(/status 401/);
  vi.stubEnv("WEIR_API_KEY", undefined);
  vi.stubEnv("WEIR_ADMIN_KEY", undefined);
  await expect(run(["list", "--url", server.url])).rejects.toThrow(/status 401/);
});

test("a time is absolute or relative, and a count is whole", () => {
  const now = Date.parse("2027-01-31T12:00:00Z");
  expect(readTime("since", "90m", now)).toBe("2027-01-31T10:30:00.000Z");
  expect(readTime("since", "2w", now)).toBe("2027-01-17T12:00:00.000Z");
  expect(readTime("since", "2027-01-01", now)).toBe("2027-01-01T00:00:00.000Z");
  expect(() => readTime("since", "5", now)).toThrow("--since");
  expect(readCount("limit", undefined, 7)).toBe(7);
  expect(() => readCount("limit", "1e3", 7)).toThrow("1 or more");
});

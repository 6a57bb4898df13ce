/** `/mcp/traces`: a scripted client finds and fixes a fault in a graph's input, and what each tool reads and refuses. */
import { END, START, StateGraph } from "@langchain/langgraph";
import { beforeAll, describe, expect, it, vi } from "vitest";
import * as z from "zod";
import { graphs } from "../../../src/deployment.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../../support/caller.ts";
import { sentRun } from "../../support/traces.ts";
import { connectFirst, connectSecond } from "./connect.ts";

const RATES: Record<string, number> = { Paris: 20, Rome: 22 };
const State = z.object({ city: z.string(), rate: z.number().optional(), note: z.string().optional() });

/** Fails for a city that it has no rate for. */
const taxes = new StateGraph(State)
  .addNode("look_up", ({ city }) => {
    const rate = RATES[city];
    if (rate === undefined) throw new Error(`No tax rate for the city "${city}".`);
    return { rate };
  })
  .addNode("write", ({ city, rate }) => ({ note: `The rate of ${city} is ${rate} %.` }))
  .addEdge(START, "look_up")
  .addEdge("look_up", "write")
  .addEdge("write", END)
  .compile();
Object.assign(graphs, { mcp_taxes: taxes });

const READ = new URL("https://weir.test/mcp/traces");
const WRITE = new URL("https://weir.test/mcp/traces?write=true");

type Arguments = Record<string, unknown>;

/** What the tool says, by the client of the first generation. */
async function use(key: string, name: string, given: Arguments = {}, address = READ): Promise<string> {
  const client = await connectFirst(key, address);
  try {
    const result = await client.callTool({ name, arguments: given });
    const [{ text } = { text: "" }] = result.content as { text: string }[];
    return result.isError ? `refused: ${text}` : text;
  } finally {
    await client.close();
  }
}

/** The first match of a pattern with one group. */
function pick(text: string, pattern: RegExp): string {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`${pattern} is not in:\n${text}`);
  return found;
}

const UUID = "([\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12})";

let caller: Caller;
let threadId: string;
/** The trace of the second run, which failed. */
let traceId: string;

async function runOn(by: Caller, thread: string, city: string): Promise<void> {
  const body = { assistant_id: "mcp_taxes", input: { city } };
  await (await by.fetch(`/threads/${thread}/runs/wait`, { body })).text();
}

beforeAll(async () => {
  caller = await newCaller();
  const made = await caller.fetch("/threads", { body: {} });
  ({ thread_id: threadId } = await made.json<{ thread_id: string }>());
  await runOn(caller, threadId, "Paris");
  await runOn(caller, threadId, "Pari");
  const find = () => use(caller.key, "find_traces", { failed: true });
  // The trace is stored after the end of the run.
  traceId = await vi.waitFor(async () => pick(await find(), new RegExp(`trace ${UUID}`)), {
    timeout: 20_000,
    interval: 200,
  });
}, 60_000);

describe("a coding agent", () => {
  it("finds the failing trace, forks before the fault, compares, and keeps the case", async () => {
    const client = await connectSecond(caller.key, undefined, WRITE);
    const say = async (name: string, given: Arguments) => {
      const { content, isError } = await client.callTool({ name, arguments: given });
      const [{ text } = { text: "" }] = content as { text: string }[];
      expect([isError, text]).toEqual([false, text]);
      return text;
    };
    expect(client.getInstructions()).toContain("find_traces with failed: true");

    const found = await say("find_traces", { failed: true, words: "city rate" });
    const trace_id = pick(found, new RegExp(`trace ${UUID}`));
    const thread_id = pick(found, new RegExp(`thread ${UUID}`));
    expect([trace_id, thread_id, found]).toEqual([traceId, threadId, expect.stringContaining("No tax rate")]);

    const tree = await say("read_trace", { trace_id });
    const run_id = pick(tree, new RegExp(`! look_up \\[chain\\] error.* ${UUID}`));
    expect(await say("read_run", { run_id })).toMatch(/"city":"Pari"[^]*\[characters 0 to \d+ of \d+\.\]$/);

    const thread = await say("read_thread", { thread_id });
    expect(thread).toContain(`thread ${thread_id}: error`);
    const checkpoint_id = pick(thread, new RegExp(`${UUID} .* next: end$`, "m"));

    const again = await say("rerun_from_checkpoint", { thread_id, checkpoint_id, input: { city: "Rome" } });
    expect(again).toMatch(/^run .* of .* on thread .*: success\n/);
    expect(again).toContain("note: The rate of Rome is 22 %.");
    const after = pick(again, new RegExp(`trace ${UUID} \\(success`));
    const copy = pick(again, new RegExp(`on thread ${UUID}:`));
    expect(copy).not.toBe(thread_id);
    // The conversation itself is as it was.
    expect(await use(caller.key, "read_thread", { thread_id })).toBe(thread);

    const compared = await say("compare_runs", { before: trace_id, after });
    expect(compared).toContain("/inputs/city\n  before: Pari\n  after:  Rome");
    expect(compared).toMatch(/^~ look_up \[chain\] error.* → success/m);
    expect(compared).toMatch(/^\+ write \[chain\] success/m);

    const outputs = { note: "The rate of Rome is 22 %." };
    const example = { dataset: "taxes", inputs: { city: "Rome" }, outputs, source_run_id: after, create_dataset: true };
    const kept = pick(await say("add_example", example), new RegExp(`^example ${UUID}`));
    const stored = await (await caller.fetch(`/examples/${kept}`)).json();
    expect(stored).toMatchObject({ inputs: { city: "Rome" }, outputs, source_run_id: after });
    expect(await say("list_datasets", {})).toMatch(/^"taxes" .*\(1 examples, 0 experiments\)/);
    await client.close();
  }, 60_000);

  it("changes the state at a checkpoint, repeats a failed step, and runs on a new thread", async () => {
    const thread = await use(caller.key, "read_thread", { thread_id: threadId });
    const checkpoint_id = pick(thread, new RegExp(`${UUID} .* next: look_up`, "m"));
    const write = (given: Arguments) => use(caller.key, "rerun_from_checkpoint", given, WRITE);
    const state = { values: { city: "Rome" }, as_node: "__start__" };
    expect(await write({ thread_id: threadId, checkpoint_id, state })).toContain("The rate of Rome is 22 %.");
    expect(await write({ thread_id: threadId, checkpoint_id })).toMatch(/: error\n[^]*No tax rate for the city "Pari"/);
    expect(await write({ assistant_id: "mcp_taxes", input: { city: "Paris" } })).toContain(
      "The rate of Paris is 20 %.",
    );
  }, 60_000);
});

it("a call that is repeated under its Idempotency-Key forks once", async () => {
  const given = { thread_id: threadId, input: { city: "Rome" }, wait_seconds: 0 };
  const params = { name: "rerun_from_checkpoint", arguments: given };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  // The answer is a stream, which is not kept.
  const headers = { "idempotency-key": crypto.randomUUID(), accept: "text/event-stream" };
  const call = async () => (await caller.fetch("/mcp/traces?write=true", { body, headers })).text();
  const forked = new RegExp(`run (${UUID} of \\S+ on thread ${UUID}):`);
  const first = pick(await call(), forked);
  expect(pick(await call(), forked)).toBe(first);
  const other = { ...headers, "idempotency-key": crypto.randomUUID() };
  const again = await (await caller.fetch("/mcp/traces?write=true", { body, headers: other })).text();
  expect(pick(again, forked)).not.toBe(first);
});

describe("reading", () => {
  it("lists the tools with their costs and hints, and those that write only where the address says so", async () => {
    const names = async (key: string, address: URL) => {
      const client = await connectFirst(key, address);
      const { tools } = await client.listTools();
      await client.close();
      for (const { description, annotations, inputSchema } of tools) {
        expect(description).toMatch(/ Cost: .*\.$/);
        expect(inputSchema.type).toBe("object");
        expect(typeof annotations?.readOnlyHint).toBe("boolean");
      }
      return tools.filter(({ annotations }) => !annotations?.readOnlyHint).map(({ name }) => name);
    };
    expect(await names(caller.key, READ)).toEqual([]);
    expect(await names(caller.key, WRITE)).toEqual(["rerun_from_checkpoint", "add_example"]);
    const made = await caller.fetch("/api/v1/api-keys", { body: { scopes: ["read"] } });
    const { key } = await made.json<{ key: string }>();
    expect(await names(key, WRITE)).toEqual([]);
    const example = { dataset: "taxes", inputs: {}, create_dataset: true };
    expect(await use(key, "add_example", example, WRITE)).toBe(
      'refused: 403: This credential lacks the scope "write".',
    );
    expect(await use(caller.key, "add_example", example)).toContain("refused: 403: This connection is for reading.");
  });

  it("pages through a payload in R2 and cuts long values", async () => {
    const text = "é😀".repeat(150_000);
    const run = sentRun(Date.now() * 1_000, { session_name: "large", inputs: { text }, outputs: { text: "short" } });
    await caller.fetch("/runs/batch", { body: { post: [run] } });
    const read = (given: Arguments) => use(caller.key, "read_run", { run_id: run.id, ...given });
    const first = await read({ length: 11 });
    expect(first).toBe('{"text":"é\n[characters 0 to 10 of 450011. The next part has offset 10.]');
    const last = await read({ offset: 450_005, length: 20_000 });
    // It begins within a character of two units.
    expect(last).toBe('\uFFFDé😀"}\n[characters 450005 to 450011 of 450011.]');
    expect(await read({ offset: 450_011 })).toContain("refused: 422: Invalid arguments: offset");
    expect(await read({ field: "error" })).toMatch(/^null\n/);
    for (const field of ["metadata", "events", "extra", "tags", "feedback_stats"])
      expect(await read({ field })).toMatch(/^(null|\{.*\}|\[.*\])\n\[characters 0 to (\d+) of \2\.\]$/);
    const tree = await use(caller.key, "read_trace", { trace_id: run.id });
    expect(tree.length).toBeLessThan(500);
    const thread = await use(caller.key, "read_thread", { thread_id: threadId, key: "note", offset: 1, length: 8 });
    const absent = await use(caller.key, "read_thread", { thread_id: threadId, key: "constructor" });
    expect(absent).toMatch(/^null\n/);
    expect(thread).toMatch(/^The rate\n\[characters 1 to 9 of \d+\. The next part has offset 9\.\]$/);
  });

  it("compares runs of any size and with any names in bounded text", async () => {
    const now = Date.now() * 1_000;
    const post = async (runs: object[]) => caller.fetch("/runs/batch", { body: { post: runs } });
    const zeros = Array.from({ length: 200_000 }, () => 0);
    const values = { zeros, list: [1, 2], constructor: 1 };
    const more = { session_name: "compared", name: `root\n! forged ${"x".repeat(200)}` };
    const before = sentRun(now, { ...more, inputs: values, outputs: { "a/b": 1 } });
    const after = sentRun(now, { ...more, inputs: { ...values, zeros: [...zeros, 1], list: [1, 3] }, outputs: {} });
    const steps = Array.from({ length: 205 }, (_, i) => sentRun(now + i + 1, { ...more, name: `step\n${i}` }, after));
    await post([before, after, ...steps]);
    const compared = await use(caller.key, "compare_runs", { before: before.id, after: after.id });
    expect(compared).toMatch(/^before: root ! forged x+… \(.*\nafter: /);
    expect(compared).toContain("/inputs/list/1\n  before: 2\n  after:  3\n/outputs/a~1b\n  before: 1\n  after:  null");
    expect(compared).not.toMatch(/constructor|zeros|are equal/);
    expect(compared).toContain("… the values are too large to compare them all.\nsteps:\n+ step 0 [");
    expect(compared).toContain("… a trace has more than 200 runs");
    const same = await use(caller.key, "compare_runs", { before: traceId, after: traceId });
    expect(same).toContain("Inputs, outputs and error are equal.");
    expect(same).not.toContain("…");
  });

  it("finds by words, by filter, and anywhere in a trace; without a match for all words, for any", async () => {
    const find = (given: Arguments) => use(caller.key, "find_traces", given);
    expect(await find({ words: '"tax rate" Pari' })).toContain(traceId);
    expect(await find({ words: "zebra Pari" })).toMatch(new RegExp(`^No trace has all of the words[^]*${traceId}`));
    expect(await find({ words: "zebra okapi" })).toContain("No traces match.");
    expect(await find({ filter: `eq(thread_id, "${threadId}")`, failed: true })).toContain(traceId);
    expect(await find({ filter: 'eq(name, "absent")', failed: true })).toContain("No traces match.");
    expect(await find({ failed: true, anywhere: true })).toContain(traceId);
    expect(await find({ failed: true, until: "2020-01-01T00:00:00Z" })).toContain("No traces match.");
    const [one, two] = [await find({ limit: 1 }), await find({})];
    expect(two).toContain(
      await find({ limit: 1, cursor: pick(one, /cursor (\S+)$/) }).then((next) => next.split("\n")[0]),
    );
    expect(await find({ filter: "eq(name" })).toMatch(/^refused: 400: /);
    expect(await find({ project: "absent" })).toMatch(/^refused: 404: There is no project "absent"\. There is /);
    expect(await use(caller.key, "list_projects")).toMatch(new RegExp(`"default"  ${UUID}`));
  });

  it("reads an experiment with its baseline", async () => {
    const by = await newCaller();
    const post = async (path: string, body: object) => (await by.fetch(path, { body })).json<{ id: string }>();
    const { id: dataset_id } = await post("/datasets", { name: "questions" });
    const { id: example } = await post("/examples", { dataset_id, inputs: { q: "one" }, outputs: { a: "ONE" } });
    const ids: string[] = [];
    for (const [name, score] of [
      ["base", 1],
      ["next", 0],
    ] as const) {
      const { id } = await post("/sessions", { name, reference_dataset_id: dataset_id });
      const more = { session_name: name, reference_example_id: example, outputs: { a: name }, inputs: { q: "one" } };
      const run = sentRun(Date.now() * 1_000, { ...more, end_time: new Date().toISOString() });
      await by.fetch("/runs/batch", { body: { post: [run] } });
      await post("/feedback", { run_id: run.id, trace_id: run.id, key: "correct", score });
      ids.push(id);
    }
    expect(await use(by.key, "list_experiments", { dataset: "questions" })).toMatch(
      /"next".*\n"base"|"base".*\n"next"/,
    );
    const [baseline, experiment] = ids;
    const read = await use(by.key, "read_experiment", { experiment, baseline });
    expect(read).toMatch(/"next" .*: 1 runs, 0 failed.*scores \{"correct":0\}; regressed \{"correct":1\}/);
    expect(read).toContain('inputs: {"q":"one"}\n  expected: {"a":"ONE"}');
    expect(await use(by.key, "read_experiment", { experiment, baseline, change: "improved" })).not.toContain(
      "expected",
    );
    expect(await use(by.key, "read_experiment", { experiment: crypto.randomUUID() })).toContain("refused: 404");
  });
});

describe("refusals", () => {
  it("another workspace reads and forks nothing", async () => {
    const other = await newCaller();
    const useTool = (name: string, given: Arguments) => use(other.key, name, given, WRITE);
    expect(await useTool("read_trace", { trace_id: traceId })).toContain("refused: 404: Trace not found.");
    expect(await useTool("read_run", { run_id: traceId })).toContain("refused: 404: Run not found.");
    expect(await useTool("read_thread", { thread_id: threadId })).toContain("refused: 404: Thread");
    expect(await useTool("compare_runs", { before: traceId, after: traceId })).toContain("refused: 404");
    expect(await useTool("rerun_from_checkpoint", { thread_id: threadId })).toContain("refused: 404: Thread");
    expect(await useTool("list_projects", {})).toBe("There are no projects.");
  });

  it("the admin key reads in the workspace that it names, and in no other", async () => {
    const other = await newCaller();
    const params = { name: "list_projects", arguments: {} };
    const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const read = async (headers: Record<string, string>) => {
      const answer = await send("/mcp/traces", { body, headers: { ...headers, accept: "application/json" } });
      return answer.text();
    };
    const admin = { "x-api-key": ADMIN_KEY };
    expect(await read({ ...admin, "x-tenant-id": caller.workspaceId })).toContain('\\"default\\"');
    expect(await read({ ...admin, "x-tenant-id": other.workspaceId })).toContain("There are no projects.");
    expect(await read(admin)).toContain("name the workspace to act in");
    expect(await read({ "x-api-key": other.key, "x-tenant-id": caller.workspaceId })).toContain(
      "X-Tenant-Id is not the workspace",
    );
  });

  it("no key, a wrong key, wrong arguments and an unknown tool", async () => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const bare = await send("/mcp/traces", { body });
    expect([bare.status, bare.headers.get("www-authenticate")]).toEqual([
      401,
      'Bearer resource_metadata="https://weir.test/.well-known/oauth-protected-resource/mcp/traces"',
    ]);
    const writing = await send("/mcp/traces?write=true", { body });
    expect(writing.headers.get("www-authenticate")).toContain('scope="read write"');
    expect((await send("/mcp/traces", { body, headers: { "x-api-key": "weir_key_wrong" } })).status).toBe(401);
    expect((await caller.fetch("/mcp/traces?write=perhaps", { body })).status).toBe(422);
    expect((await caller.fetch("/mcp/traces")).status).toBe(405);
    // Of several values none is chosen, and a batch writes no more than one request.
    for (const search of ["?write=false&write=true", "?write=true&write=true"])
      expect((await caller.fetch(`/mcp/traces${search}`, { body })).status).toBe(422);
    const params = { name: "add_example", arguments: { dataset: "batch", inputs: {}, create_dataset: true } };
    const batch = [1, 2].map((id) => ({ jsonrpc: "2.0", id, method: "tools/call", params }));
    for (const search of ["", "?Write=true", "?write=false", "?write="]) {
      const headers = { accept: "application/json" };
      const said = await (await caller.fetch(`/mcp/traces${search}`, { body: batch, headers })).text();
      expect(said.match(/403: This connection is for reading/g)).toHaveLength(2);
    }
    expect((await caller.fetch("/mcp/traces", { method: "DELETE" })).status).toBe(404);
    expect(await use(caller.key, "read_trace", { trace_id: "x" })).toBe(
      "refused: 422: Invalid arguments: trace_id: must be a UUID",
    );
    await expect(use(caller.key, "absent")).rejects.toMatchObject({ code: -32602 });
    const rerun = (given: Arguments) => use(caller.key, "rerun_from_checkpoint", given, WRITE);
    expect(await rerun({ input: {} })).toContain("without thread_id, give assistant_id");
    expect(await rerun({ thread_id: threadId, input: {}, resume: 1 })).toContain("give one of input, state and resume");
    expect(await use(caller.key, "add_example", { dataset: "none", inputs: {} }, WRITE)).toContain(
      "create_dataset: true creates it.",
    );
  });
});

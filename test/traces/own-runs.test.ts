/** Weir traces its own runs. */
import { describe, expect, it, vi } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";
import { newThread, say, stream } from "../threads/client.ts";

interface Run {
  id: string;
  name: string;
  run_type: string;
  status: string;
  trace_id: string;
  parent_run_id: string | null;
  dotted_order: string;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown> | null;
  error: string | null;
  total_tokens: number;
  thread_id: string | null;
  extra: { metadata: Record<string, unknown> };
}

async function projectNamed(caller: Caller, name: string): Promise<string | undefined> {
  const sessions = await (await caller.fetch(`/api/v1/sessions?name=${name}`)).json<{ id: string }[]>();
  return sessions[0]?.id;
}

/** The runs of a project once `count` roots are there; they come a moment after the run has ended. */
async function waitForTraces(caller: Caller, count: number, name = "default"): Promise<Run[]> {
  return vi.waitFor(
    async () => {
      const id = await projectNamed(caller, name);
      const response = await caller.fetch("/api/v1/runs/query", { body: { session: [id], order: "asc" } });
      const { runs } = await response.json<{ runs: Run[] }>();
      if (runs.filter((run) => run.parent_run_id === null).length < count) throw new Error("not yet");
      return runs;
    },
    { timeout: 10_000, interval: 50 },
  );
}

describe("a run of a graph", () => {
  it("may have metadata of thousands of members, and all of it reaches its messages and its trace", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const metadata = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, n]));
    const run = { assistant_id: "echo", input: say("hi"), metadata, stream_mode: ["messages-tuple"] };
    const frames = await stream(caller, thread, run);
    const told = frames.find(({ event }) => event === "messages")?.data as [unknown, object] | undefined;
    expect(told?.[1]).toMatchObject({ k0: 0, k4999: 4999, thread_id: thread, langgraph_node: "echo" });
    const runs = await waitForTraces(caller, 1);
    // The graph has no name of its own.
    expect(runs.find((run) => run.parent_run_id === null)?.name).toBe("echo");
    for (const { extra } of runs) expect(extra.metadata).toMatchObject({ k0: 0, k4999: 4999, thread_id: thread });
    const tags = Array.from({ length: 1_001 }, (_, n) => `t${n}`);
    const refused = await caller.fetch(`/threads/${thread}/runs`, { body: { ...run, config: { tags } } });
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining("at most 1,000 tags")]);
  });

  it("appears as a trace with its model and tool calls", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    await stream(caller, thread, { assistant_id: "agent", input: say("What is 17 * 23?"), stream_mode: ["values"] });
    const runs = await waitForTraces(caller, 1);
    const root = runs[0]!;
    expect(root).toMatchObject({
      parent_run_id: null,
      run_type: "chain",
      status: "success",
      thread_id: thread,
      error: null,
    });
    expect(root.extra.metadata).toMatchObject({ thread_id: thread, graph_id: "agent" });
    expect(root.extra.metadata["assistant_id"]).toEqual(expect.any(String));
    expect(root.inputs).toMatchObject({ messages: [{ content: "What is 17 * 23?" }] });
    expect(JSON.stringify(root.outputs)).toContain("391");
    expect(new Set(runs.map(({ trace_id }) => trace_id))).toEqual(new Set([root.id]));
    const byId = new Map(runs.map((run) => [run.id, run]));
    for (const run of runs.slice(1)) {
      expect(run.dotted_order.startsWith(`${byId.get(run.parent_run_id!)!.dotted_order}.`)).toBe(true);
    }
    expect(runs.filter(({ run_type }) => run_type === "tool")).toMatchObject([
      { name: "calculator", status: "success" },
    ]);
    const models = runs.filter(({ run_type }) => run_type === "llm");
    expect(models).toHaveLength(2);
    expect(models.every((run) => run.total_tokens > 0)).toBe(true);
    expect(root.total_tokens).toBe(models.reduce((sum, run) => sum + run.total_tokens, 0));
  });

  it("is one turn of its thread", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    for (const text of ["one", "two", "three"])
      await stream(caller, thread, { assistant_id: "echo", input: say(text) });
    await waitForTraces(caller, 3);
    const body = { session_id: await projectNamed(caller, "default"), group_by: "conversation" };
    const { groups } = await (await caller.fetch("/api/v1/runs/group", { body })).json<{ groups: object[] }>();
    expect(groups).toMatchObject([{ group_key: thread, count: 3 }]);
  });

  it("goes to the project that the run names", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const langsmith_tracer = { project_name: "mine", example_id: crypto.randomUUID() };
    await stream(caller, thread, { assistant_id: "echo", input: say("hi"), langsmith_tracer });
    expect(await waitForTraces(caller, 1, "mine")).toMatchObject([
      { reference_example_id: langsmith_tracer.example_id },
      {},
    ]);
    expect(await projectNamed(caller, "default")).toBeUndefined();
  });

  it("shows a pause as no error", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const input = say("Send an email to ada@example.com saying hello");
    await stream(caller, thread, { assistant_id: "approval", input });
    const runs = await waitForTraces(caller, 1);
    expect(runs.every(({ status }) => status === "success")).toBe(true);
  });

  it("shows what failed", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    await stream(caller, thread, {
      assistant_id: "agent",
      input: say("What is 17 * 23?"),
      config: { recursion_limit: 1 },
    });
    const [root] = await waitForTraces(caller, 1);
    expect(root).toMatchObject({ status: "error", error: expect.stringContaining("ecursion") });
  });
});

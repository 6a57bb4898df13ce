import "../../support/streaming-graphs.ts";
import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { sseEvents } from "../../support/sse.ts";
import { get, newThread } from "../../threads/client.ts";
import { ALL, command, type Event, human, isEnd, ofRoot, read } from "./client.ts";

interface Message {
  id: string;
  type: string;
  content: string;
}

interface Task {
  name: string;
  error: string | null;
  interrupts: { id: string; value: unknown }[];
}

const start = (content: string, assistant_id = "_") => ({ assistant_id, input: human(content) });

/** What the messages channel amounts to: the text of each message by its id. */
function texts(events: Event[]): Record<string, string> {
  const byRun: Record<string, string> = {};
  const result: Record<string, string> = {};
  for (const { method, params } of events) {
    if (method !== "messages") continue;
    const { event, id, run_id, delta } = params.data as Record<string, string> & { delta?: { text?: string } };
    if (event === "message-start") byRun[String(run_id)] = String(id);
    const message = byRun[String(run_id)] ?? "";
    result[message] = (result[message] ?? "") + ((event === "content-block-delta" && delta?.text) || "");
  }
  return result;
}

describe("run.start", () => {
  it("makes the thread, starts the default agent and returns where its events begin", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const answer = await command(caller, thread, "run.start", start("What is 17 * 23?"));
    expect(answer).toMatchObject({ type: "success", meta: { thread_id: thread, applied_through_seq: 1 } });
    const events = await read(caller, thread);
    expect(events[0]).toMatchObject({
      seq: 1,
      method: "lifecycle",
      event_id: expect.stringMatching(new RegExp(`^synth:${String(answer.result.run_id)}:`)),
      params: { namespace: [], data: { event: "running", graph_name: "agent" } },
    });
    expect(ofRoot(events)).toEqual(["running", "completed"]);
    expect(new Set(events.map((event) => event.event_id)).size).toBe(events.length);
    expect(events.map((event) => event.seq)).toEqual(events.map((event) => event.seq).sort((a, b) => a - b));
    const state = await get<{ values: { messages: Message[] } }>(caller, `/threads/${thread}/state`);
    const streamed = texts(events);
    const spoken = state.values.messages.filter(({ type }) => type === "ai");
    expect(spoken.map(({ id }) => streamed[id])).toEqual(spoken.map(({ content }) => content));
    const last = events.findLast((event) => event.method === "values")?.params.data as typeof state.values;
    expect(last.messages.map(({ id, content }) => [id, content])).toEqual(
      state.values.messages.map(({ id, content }) => [id, content]),
    );
  });

  it("shows a tool call's start and finish, and checkpoints just before their values", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", start("What is 17 * 23?"));
    const events = await read(caller, thread);
    const tools = events.filter((event) => event.method === "tools").map((event) => event.params.data);
    expect(tools).toMatchObject([
      { event: "tool-started", tool_name: "calculator" },
      { event: "tool-finished", output: { type: "tool", content: "391" } },
    ]);
    expect(tools[0]?.tool_call_id).toBe(tools[1]?.tool_call_id);
    for (const [i, event] of events.entries()) {
      if (event.method !== "checkpoints") continue;
      expect(events[i + 1]?.method).toBe("values");
      expect(events[i + 1]?.params.namespace).toEqual(event.params.namespace);
    }
    const updates = events.filter((event) => event.method === "updates");
    expect(updates.map(({ params }) => params.data.node)).toEqual(["agent", "tools", "agent"]);
  });

  it("takes a repeated command for the same run, and a later one for another", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const body = { id: 3, method: "run.start", params: start("hello", "echo") };
    const send = async () => (await caller.fetch(`/threads/${thread}/commands`, { body })).json<{ result: object }>();
    const [first, second] = [await send(), await send()];
    expect(second).toEqual(first);
    const other = await caller.fetch(`/threads/${thread}/commands`, { body: { ...body, id: 4 } });
    expect((await other.json<{ result: object }>()).result).not.toEqual(first.result);
    expect(ofRoot(await read(caller, thread, undefined, { times: 2 }))).toEqual([
      "running",
      "completed",
      "running",
      "completed",
    ]);
  });

  it("branches off a checkpoint that the config names", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", start("one", "echo"));
    const [before] = (await read(caller, thread)).filter((event) => event.method === "checkpoints");
    const config = { configurable: { thread_id: thread, checkpoint_id: before?.params.data.id } };
    const again = await command(caller, thread, "run.start", { ...start("two", "echo"), config });
    await read(caller, thread, { channels: ["lifecycle"], since: again.meta.applied_through_seq });
    const state = await get<{ values: { messages: Message[] } }>(caller, `/threads/${thread}/state`);
    expect(state.values.messages.at(-1)?.content).toBe("You said: two");
    expect(state.values.messages.map((m) => m.content)).not.toContain("You said: one");
  });
});

describe("an interrupt", () => {
  const mail = start("Send an email to ada@example.com saying hello", "approval");

  it("is requested, answered once, and reported as answered", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", mail);
    const events = await read(caller, thread);
    expect(ofRoot(events)).toEqual(["running", "interrupted"]);
    const requested = events.filter((event) => event.method === "input.requested");
    expect(requested).toHaveLength(1);
    const { payload, value } = requested[0]?.params.data ?? {};
    expect(payload).toMatchObject({ action_requests: expect.anything() });
    // The JavaScript clients read `payload`, the Python ones `value`.
    expect(value).toEqual(payload);
    const interrupt_id = String(requested[0]?.params.data.interrupt_id);
    expect(JSON.stringify(events)).not.toContain("__interrupt__");
    const response = { decisions: [{ type: "approve" }] };
    const answers = await Promise.all(
      [1, 2].map(() => command(caller, thread, "input.respond", { namespace: [], interrupt_id, response })),
    );
    expect(answers.map((answer) => answer.type).sort()).toEqual(["error", "success"]);
    expect(answers.find((answer) => answer.type === "error")?.error).toBe("no_such_interrupt");
    const { applied_through_seq } = answers.find((answer) => answer.type === "success")!.meta;
    const after = await read(caller, thread, { channels: ALL, since: applied_through_seq - 1 });
    expect(after[0]).toMatchObject({ seq: applied_through_seq, params: { data: { event: "running" } } });
    expect(after.find((event) => event.method === "input.answered")?.params.data).toEqual({
      interrupt_ids: [interrupt_id],
    });
    expect(ofRoot(after)).toEqual(["running", "completed"]);
    const late = await command(caller, thread, "input.respond", { interrupt_id, response });
    expect(late.error).toBe("no_such_interrupt");
  });

  it("answered strictly, by an id that does not wait, runs nothing and continues to wait", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", mail);
    const events = await read(caller, thread);
    const id = String(events.find(({ method }) => method === "input.requested")?.params.data.interrupt_id);
    const before = await get(caller, `/threads/${thread}`);
    const response = { decisions: [{ type: "approve" }] };
    const wrong = { namespace: [], interrupt_id: "f".repeat(32), response, strict_resume: true };
    const answer = await command(caller, thread, "input.respond", wrong);
    const { applied_through_seq } = answer.meta;
    const after = await read(caller, thread, { channels: ALL, since: applied_through_seq - 1 });
    expect(after.map(({ method }) => method)).toEqual(["lifecycle", "lifecycle"]);
    expect(after[1]?.params.data).toMatchObject({
      event: "failed",
      error: expect.stringContaining("UnknownInterruptError"),
      reason: "unknown_interrupt",
      interrupt_ids: [wrong.interrupt_id],
      pending_ids: [id],
    });
    expect(await get(caller, `/threads/${thread}`)).toEqual({ ...before, updated_at: expect.any(String) });
    const right = await command(caller, thread, "input.respond", { ...wrong, interrupt_id: id });
    const end = await read(caller, thread, { channels: ALL, since: right.meta.applied_through_seq - 1 });
    expect(ofRoot(end)).toEqual(["running", "completed"]);
    const late = await command(caller, thread, "input.respond", { ...wrong, interrupt_id: id });
    const nothing = await read(caller, thread, { channels: ALL, since: late.meta.applied_through_seq - 1 });
    expect(nothing.at(-1)?.params.data).toMatchObject({ reason: "unknown_interrupt", pending_ids: [] });
  });

  it("that was answered is no longer open while others of its step wait", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", start("go", "questions"));
    await read(caller, thread);
    const open = async () => {
      const { tasks } = await get<{ tasks: Task[] }>(caller, `/threads/${thread}/state`);
      return Object.fromEntries(tasks.map(({ name, interrupts: [one] }) => [name, one?.id]));
    };
    const { left, right, sub } = await open();
    await command(caller, thread, "input.respond", { interrupt_id: left, response: "l" });
    await read(caller, thread, undefined, { times: 2 });
    expect(await open()).toEqual({ left: undefined, right, sub });
  });

  it("that follows a failure of its task takes the failure's place", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const task = async () => (await get<{ tasks: Task[] }>(caller, `/threads/${thread}/state`)).tasks[0];
    const bad = { ...start("go", "moody"), config: { configurable: { mood: "bad" } } };
    await command(caller, thread, "run.start", bad);
    await read(caller, thread);
    expect(await task()).toMatchObject({ error: "Not today.", interrupts: [] });
    await command(caller, thread, "run.start", { assistant_id: "moody", input: null });
    await read(caller, thread, undefined, { times: 2 });
    expect(await task()).toMatchObject({ error: null, interrupts: [{ value: { question: "mood" } }] });
  });

  it("takes what a run is started with for its answer", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", mail);
    await read(caller, thread);
    await command(caller, thread, "run.start", { assistant_id: "_", input: { decisions: [{ type: "approve" }] } });
    const events = await read(caller, thread, undefined, { times: 2 });
    expect(ofRoot(events)).toEqual(["running", "interrupted", "running", "completed"]);
    const { values } = await get<{ values: { sent: unknown[] } }>(caller, `/threads/${thread}/state`);
    expect(values.sent).toHaveLength(1);
  });
});

describe("a stream", () => {
  it("replays and continues, from any id that was seen", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", start("hello"));
    const all = await read(caller, thread);
    for (const cut of [0, 5, all.length - 2]) {
      const { seq, event_id } = all[cut]!;
      const rest = all.slice(cut + 1);
      expect(await read(caller, thread, { channels: ALL, since: seq })).toEqual(rest);
      expect(await read(caller, thread, { channels: ALL, since_event_id: event_id })).toEqual(rest);
      expect(await read(caller, thread, undefined, { headers: { "last-event-id": event_id } })).toEqual(rest);
    }
    // A cursor that this log has never issued starts at the beginning; otherwise the reader would wait without end.
    expect(await read(caller, thread, { channels: ALL, since: 1_000_000 })).toEqual(all);
  });

  it("starts at the first event of a run, and leaves out the runs before it", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const runs: unknown[] = [];
    for (const content of ["one", "two"]) {
      runs.push((await command(caller, thread, "run.start", start(content))).result.run_id);
      await read(caller, thread, undefined, { times: runs.length });
    }
    const all = await read(caller, thread, { channels: ALL, since: 0 }, { times: 2 });
    const second = all.slice(all.findIndex(isEnd) + 1);
    expect(ofRoot(second)).toEqual(["running", "completed"]);
    expect(await read(caller, thread, { channels: ALL, since_run: runs[1] })).toEqual(second);
    expect(await read(caller, thread, { channels: ALL, since_run: runs[0] }, { times: 2 })).toEqual(all);
    expect(await read(caller, thread, { channels: ALL, since_run: runs[1], since: second[3]?.seq })).toEqual(
      second.slice(4),
    );
    expect(await read(caller, thread, { channels: ALL, since_run: crypto.randomUUID() }, { times: 2 })).toEqual(all);
    expect(await read(caller, thread, { channels: ALL, after_run: runs[0] })).toEqual(second);
    expect(await read(caller, thread, { channels: ALL, after_run: crypto.randomUUID() }, { times: 2 })).toEqual(all);
  });

  it("starts at the end for a run that has not begun, where its events come", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", start("one"));
    await read(caller, thread);
    const body = { assistant_id: "echo", input: human("two"), after_seconds: 3_600 };
    const { run_id } = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    const filter = { channels: ALL, since_run: run_id };
    const response = await caller.fetch(`/threads/${thread}/stream/events`, { body: filter });
    await caller.fetch(`/threads/${thread}/runs/${run_id}/cancel?wait=true`, { body: {} });
    const first = (await sseEvents(response).next()).value?.data as Event;
    expect(first.event_id).toContain(`synth:${run_id}:`);
  });

  it("shows runs that were started elsewhere, to a reader who was there before", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const reading = read(caller, thread, { channels: ["lifecycle", "messages"] }, { times: 2 });
    for (const content of ["one", "two"]) {
      await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: "echo", input: human(content) } });
    }
    const events = await reading;
    expect(ofRoot(events)).toEqual(["running", "completed", "running", "completed"]);
  });

  it("continues after its object was lost, with one beginning and one end", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", start("What is 17 * 23?"));
    const seen: Event[] = [];
    for (let i = 0; i < 2; i++) {
      await new Promise((resolve) => setTimeout(resolve, 40));
      await abortAllDurableObjects();
      const since = seen.at(-1)?.seq;
      seen.push(...(await read(caller, thread, { channels: ALL, since }, { until: () => true, times: 5 })));
    }
    const since = seen.at(-1)?.seq;
    if (!seen.some(isEnd)) seen.push(...(await read(caller, thread, { channels: ALL, since })));
    expect(ofRoot(seen)).toEqual(["running", "completed"]);
    expect(await read(caller, thread)).toEqual(seen.slice(0, seen.findIndex(isEnd) + 1));
  });

  it("picks by channel, namespace and depth", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", start("Why does water flow downhill, and who found out?", "research"));
    const all = await read(caller, thread);
    const pick = (filter: Record<string, unknown>) => read(caller, thread, filter);
    const lifecycle = await pick({ channels: ["lifecycle", "tools"] });
    expect(lifecycle).toEqual(all.filter(({ method }) => method === "lifecycle" || method === "tools"));
    const shallow = await pick({ channels: ALL, namespaces: [[]], depth: 1 });
    expect(shallow).toEqual(all.filter(({ params }) => params.namespace.length <= 1));
    expect(shallow.length).toBeLessThan(all.length);
    const isCompleted = (event: Event) => event.method === "lifecycle" && event.params.data.event === "completed";
    const nested = await read(caller, thread, { channels: ALL, namespaces: [["tools"]] }, { until: isCompleted });
    expect(nested.length).toBeGreaterThan(0);
    expect(nested.every(({ params }) => params.namespace[0]?.startsWith("tools:"))).toBe(true);
  });
});

describe("commands that read", () => {
  it("give the state, its checkpoints and the tree of graphs", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    expect((await command(caller, thread, "state.get", { namespace: [] })).error).toBe("no_such_run");
    expect((await command(caller, thread, "agent.getTree", {})).error).toBe("no_such_run");
    await command(caller, thread, "run.start", start("Why does water flow downhill?", "research"));
    await read(caller, thread);
    const state = await command(caller, thread, "state.get", { namespace: [], keys: ["messages", "nothing"] });
    expect(Object.keys(state.result.values as object)).toEqual(["messages"]);
    const { result } = await command(caller, thread, "state.listCheckpoints", { limit: 2 });
    const checkpoints = result.checkpoints as { id: string; step: number; timestamp: string }[];
    expect(checkpoints).toHaveLength(2);
    expect((state.result.checkpoint as { id: string }).id).toBe(checkpoints[0]?.id);
    expect(checkpoints[0]!.step).toBeGreaterThan(checkpoints[1]!.step);
    const { tree } = (await command(caller, thread, "agent.getTree")).result as {
      tree: { status: string; graph_name: string; children: { namespace: string[]; status: string }[] };
    };
    expect(tree).toMatchObject({ namespace: [], status: "completed", graph_name: "research" });
    expect(tree.children.map(({ namespace: [first] }) => first?.split(":")[0])).toContain("tools");
    expect(tree.children.every(({ status }) => status === "completed")).toBe(true);
    const forked = await command(caller, thread, "state.fork", { checkpoint_id: checkpoints[1]?.id });
    expect(forked.result).toEqual({ run_id: expect.any(String), thread_id: thread });
    await read(caller, thread, undefined, { times: 2 });
    const nowhere = await command(caller, thread, "state.fork", { checkpoint_id: crypto.randomUUID() });
    expect(nowhere.error).toBe("no_such_checkpoint");
  });

  it("a message that is injected is taken up", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const message = { role: "user", content: "and this" };
    expect((await command(caller, thread, "input.inject", { namespace: [], message })).error).toBe("no_such_run");
    await command(caller, thread, "run.start", start("hello", "echo"));
    expect((await command(caller, thread, "input.inject", { namespace: [], message })).type).toBe("success");
    await read(caller, thread, undefined, { times: 2 });
    const { values } = await get<{ values: { messages: Message[] } }>(caller, `/threads/${thread}/state`);
    expect(values.messages.map((m) => m.content)).toEqual([
      "hello",
      "You said: hello",
      "and this",
      "You said: and this",
    ]);
  });
});

/** The unmodified SDK's `client.threads.stream`, old and new, over SSE and WebSocket. */
import { Client as Client11 } from "langgraph-sdk-1-11";
import { Client as Client15 } from "@langchain/langgraph-sdk";
import { isUnknownInterruptError, StreamController } from "@langchain/langgraph-sdk/stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { pickCases } from "../support/thorough.ts";

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer("open");
});
afterAll(() => server.stop());

type Transport = "sse" | "websocket";
interface Message {
  type: string;
  content: string;
  id: string;
}
interface State {
  messages: Message[];
  answers?: string[];
}

const CLIENTS = [
  ["1.15.0", "sse"],
  ["1.15.0", "websocket"],
  ["1.11.0", "sse"],
  ["1.11.0", "websocket"],
] as const;

// The two versions' types differ in what these tests do not touch.
function createClient(version: string): Client15 {
  const options = { apiUrl: server.url, apiKey: null as never };
  return version === "1.15.0" ? new Client15(options) : (new Client11(options) as unknown as Client15);
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

type Thread = ReturnType<Client15["threads"]["stream"]>;
type Data = { event: string; error?: string };

/** Waits for one root end after the other, as the thread's listeners receive them. */
function ends(thread: Thread, onEnd: (data: Data) => void = () => undefined): () => Promise<string> {
  const heard: string[] = [];
  let wake: () => void = () => undefined;
  thread.onEvent(({ method, params }) => {
    const data = params.data as Data;
    if (method !== "lifecycle" || params.namespace.length > 0 || data.event === "running") return;
    heard.push(data.event);
    onEnd(data);
    wake();
  });
  return async () => {
    while (heard.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    return heard.shift() ?? "";
  };
}

const human = (content: string) => ({ messages: [{ role: "user", content }] });

describe.each(pickCases(CLIENTS, 1))("SDK %s over %s", (version, transport: Transport) => {
  const open = (assistantId: string, threadId: string = crypto.randomUUID()) =>
    createClient(version).threads.stream(threadId, { assistantId, transport });

  it("assembles messages and tool calls, and ends with the state", async () => {
    const thread = open("agent");
    const [messages, tools] = [thread.messages, thread.toolCalls];
    const { run_id } = (await thread.run.start({ input: human("What is 17 * 23?") })) as { run_id: string };
    expect(run_id).toMatch(/^[\da-f-]{36}$/);
    const [said, called, state] = await Promise.all([
      collect(messages).then((list) => Promise.all(list.map((one) => one.text))),
      collect(tools).then((list) => Promise.all(list.map(async (one) => [one.name, one.input, await one.output]))),
      thread.output as Promise<State>,
    ]);
    const spoken = state.messages.filter(({ type, content }) => type === "ai" && content);
    expect(said.filter((text) => text.length > 0)).toEqual(spoken.map(({ content }) => content));
    // The SDK shows each call twice: begun, and finished.
    expect(called).toHaveLength(2);
    expect(called[0]).toEqual(called[1]);
    expect(called[0]).toEqual(["calculator", { expression: "17 * 23" }, expect.anything()]);
    expect(String(called[0]?.[2])).toBe("391");
    await thread.close();
  });

  it("gives the output of a run that is over at once", async () => {
    for (let run = 0; run < 5; run++) {
      const thread = open("echo");
      await thread.run.start({ input: human("hi") });
      const state = (await thread.output) as State | undefined;
      expect(state?.messages.map(({ content }) => content)).toEqual(["hi", "You said: hi"]);
      await thread.close();
    }
  });

  it("discovers subagents, each with its own messages", async () => {
    const thread = open("research");
    const subagents = thread.subagents;
    await thread.run.start({ input: human("Why does water flow downhill, and who found out?") });
    const reports: Promise<[string, string | undefined, string]>[] = [];
    for await (const one of subagents) {
      const texts = async () => Promise.all((await collect(one.messages)).map(async ({ text }) => text));
      reports.push(texts().then((all) => [one.name, one.namespace[0]?.split(":")[0], all.join("")]));
    }
    const told = await Promise.all(reports);
    expect(told.map(([name, where]) => `${name} in ${where}`).sort()).toEqual([
      "critic in tools",
      "researcher in tools",
    ]);
    expect(told.map(([, , text]) => text.length > 0)).toEqual([true, true]);
    await thread.close();
  });

  it("reports nested and parallel interrupts, and continues with the answers, one by one or together", async () => {
    const thread = open("questions");
    const ended = ends(thread);
    await thread.run.start({ input: human("go") });
    expect(await ended()).toBe("interrupted");
    expect(thread.interrupted).toBe(true);
    const asked = thread.interrupts.map(({ interruptId, namespace, payload }) => ({
      interrupt_id: interruptId,
      namespace: [...namespace],
      question: (payload as { question: string }).question,
    }));
    expect(asked.map(({ question }) => question).sort()).toEqual(["deep", "left", "right"]);
    expect(asked.find(({ question }) => question === "deep")?.namespace[0]).toMatch(/^sub:/);
    const [first, ...others] = asked.map(({ question, ...one }) => ({ ...one, response: `${question}!` }));
    await thread.input.respond(first as never);
    expect(await ended()).toBe("interrupted");
    await thread.input.respond({ responses: others });
    expect(await ended()).toBe("completed");
    const { values } = (await thread.state.get({ namespace: [] })) as { values: State };
    expect(values.messages.at(-1)?.content).toBe("deep: deep!; left: left!; right: right!");
    await expect(thread.input.respond(first as never)).rejects.toThrow(/answer/);
    await thread.close();
  });

  it("receives the reason of a failed run", async () => {
    const thread = open("boom");
    const failures: unknown[] = [];
    const ended = ends(thread, (data) => failures.push(data.error));
    await thread.run.start({ input: human("go") });
    expect(await ended()).toBe("failed");
    expect(failures).toEqual([expect.stringContaining("kaboom")]);
    await thread.close();
  });

  it("receives the end of a cancelled run", async () => {
    const thread = open("agent");
    const { run_id } = (await thread.run.start({ input: human("Tell me a lot about everything you can do") })) as {
      run_id: string;
    };
    await createClient(version).runs.cancel(thread.threadId, run_id, false, "interrupt");
    await thread.output.catch(() => undefined);
    expect(thread.interrupted).toBe(true);
    await thread.close();
  });

  it("thread.extensions: what stream transformers push, and what they promise", async () => {
    const thread = open("counting");
    // Named before the run: the SDK misses those of a run that ends while it subscribes over SSE.
    const { activity, toolCalls } = thread.extensions as unknown as Record<
      string,
      AsyncIterable<unknown> & PromiseLike<unknown>
    >;
    await thread.run.start({ input: human("hi") });
    expect(await collect(activity as AsyncIterable<unknown>)).toEqual([{ tool: "double" }, { message: true }]);
    expect(await toolCalls).toBe(1);
    await thread.close();
  });

  it("gets custom events by their names", async () => {
    const thread = open("progress");
    const named = await thread.subscribe(["custom:steps" as never]);
    const any = await thread.subscribe(["custom"]);
    await thread.run.start({ input: human("go") });
    await thread.output;
    const takeFirst = async (items: AsyncIterable<unknown>) => {
      for await (const item of items) return item;
    };
    expect(JSON.stringify(await takeFirst(named as AsyncIterable<unknown>))).toContain('"step":1');
    expect(JSON.stringify(await takeFirst(any as AsyncIterable<unknown>))).toContain('"progress":50');
    await thread.close();
  });

  it("gets custom events as the graph made them, with any content", async () => {
    const events: unknown[] = [];
    const { runs, threads } = createClient(version);
    const { thread_id } = await threads.create();
    for await (const { event, data } of runs.stream(thread_id, "progress", {
      input: human("go"),
      streamMode: "custom",
    })) {
      if (event === "custom") events.push(data);
    }
    const named = [1, 2].map((step) => ({ name: "flat", step }));
    expect(events).toEqual([{ progress: 50 }, { name: "steps", payload: { step: 1 } }, { $b: "mine" }, ...named]);
  });

  it("reads state, checkpoints and the tree, and branches", async () => {
    const thread = open("agent");
    await thread.run.start({ input: human("What is 17 * 23?") });
    await thread.output;
    const { checkpoints } = (await thread.state.listCheckpoints({ limit: 3 })) as {
      checkpoints: { id: string }[];
    };
    expect(checkpoints).toHaveLength(3);
    const { tree } = (await thread.agent.getTree({})) as { tree: { status: string } };
    expect(tree.status).toBe("completed");
    const forked = await thread.state.fork({ checkpoint_id: checkpoints[1]!.id });
    expect(forked).toMatchObject({ thread_id: thread.threadId });
    await thread.close();
  });

  it("shows a second connection, in the middle of a run, the same as the first", async () => {
    const first = open("agent");
    const firstMessages = first.messages;
    await first.run.start({ input: human("What is 17 * 23, and what can you do?") });
    const second = open("agent", first.threadId);
    const ended = await second.subscribe({ channels: ["lifecycle", "messages", "values"] } as never);
    const ids = new Set<string>();
    for await (const event of ended as AsyncIterable<{
      event_id: string;
      method: string;
      params: { namespace: string[]; data: { event?: string } };
    }>) {
      expect(ids.has(event.event_id)).toBe(false);
      ids.add(event.event_id);
      if (
        event.method === "lifecycle" &&
        event.params.namespace.length === 0 &&
        event.params.data.event === "completed"
      )
        break;
    }
    const said = await Promise.all((await collect(firstMessages)).map((one) => one.text));
    expect(said.length).toBeGreaterThan(0);
    await Promise.all([first.close(), second.close()]);
  });
});

it("SDK 1.15.0 reports an answer that came too late, and shows what still waits", async () => {
  const client = new Client15<State>({ apiUrl: server.url, apiKey: null as never });
  const { thread_id: threadId } = await client.threads.create();
  const tab = () => new StreamController<State>({ assistantId: "questions", client, threadId, transport: "sse" });
  const one = tab();
  await one.hydrate();
  await one.submit(human("go"));
  const { interrupts } = one.rootStore.getSnapshot();
  expect(interrupts).toHaveLength(3);
  const [first, ...others] = interrupts.map(({ id }) => String(id));
  await client.runs.wait(threadId, "questions", { command: { resume: { [first as string]: "elsewhere" } } });
  // The SDK takes the end of a run that begins after its answer for the end of its own.
  await expect.poll(() => one.rootStore.getSnapshot().values.answers).toEqual(["left: elsewhere"]);
  await one.respond("here", { interruptId: first, strictResume: true });
  await expect.poll(() => isUnknownInterruptError(one.rootStore.getSnapshot().error), { timeout: 20_000 }).toBe(true);
  const { error } = one.rootStore.getSnapshot();
  expect(error).toMatchObject({ interruptIds: [first], pendingIds: expect.arrayContaining(others) });
  const listWaiting = () =>
    one.rootStore
      .getSnapshot()
      .interrupts.map(({ id }) => String(id))
      .toSorted();
  await expect.poll(listWaiting, { timeout: 20_000 }).toEqual(others.toSorted());
  await one.respondAll(Object.fromEntries(others.map((id) => [id, "here"])), { strictResume: true });
  await expect.poll(() => one.rootStore.getSnapshot().values.answers, { timeout: 20_000 }).toHaveLength(3);
  await one.dispose();
  const late = { command: { resume: { [first as string]: "late" } }, strictResume: true };
  await expect(client.runs.wait(threadId, "questions", late)).rejects.toThrow("UnknownInterruptError");
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { type Client, createClient, VERSIONS } from "./clients.ts";

let server: TestServer;
beforeAll(async () => {
  // A pause between words, so that a cancel finds the run still speaking.
  server = await sharedServer("delayed");
});
afterAll(() => server.stop());

interface Message {
  id: string;
  type: string;
  content: string;
  tool_calls?: { name: string }[];
}

interface Event {
  id?: string;
  event: string;
  data: never;
}

const say = (content: string) => ({ messages: [{ role: "user", content }] });

async function collect(stream: AsyncIterable<unknown>): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of stream) events.push(event as Event);
  return events;
}

const listNamed = (events: Event[], name: string): never[] =>
  events.filter(({ event }) => event === name).map(({ data }) => data);

describe.each(VERSIONS)("@langchain/langgraph-sdk %s", (version) => {
  let client: Client;
  beforeAll(() => {
    client = createClient(version, server);
  });
  const newThread = async () => (await client.threads.create()).thread_id;

  it("streams values and updates, with metadata first", async () => {
    const thread = await newThread();
    let created: { run_id: string; thread_id?: string } | undefined;
    const events = await collect(
      client.runs.stream(thread, "echo", {
        input: say("hello"),
        streamMode: ["values", "updates"],
        onRunCreated: (run) => (created = run),
      }),
    );
    expect(events[0]).toMatchObject({ event: "metadata", data: { run_id: created?.run_id } });
    expect(created?.thread_id).toBe(thread);
    expect(events.map(({ event }) => event)).toEqual(["metadata", "values", "updates", "values"]);
    const [update] = listNamed(events, "updates") as { echo: { messages: Message[] } }[];
    expect(update?.echo.messages).toMatchObject([{ type: "ai", content: "You said: hello" }]);
    const [before, after] = listNamed(events, "values") as { messages: Message[] }[];
    expect(before?.messages.map(({ type }) => type)).toEqual(["human"]);
    expect(after?.messages.map(({ content }) => content)).toEqual(["hello", "You said: hello"]);
    const ids = events.map(({ id }) => Number(id));
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));

    const state = await client.threads.getState<{ messages: Message[] }>(thread);
    expect(state.values.messages).toEqual(after?.messages);
    expect(state.next).toEqual([]);
    expect(state.metadata).toMatchObject({ source: "loop" });
    expect(state.checkpoint?.checkpoint_id).toEqual(expect.any(String));
  });

  it("streams tokens as messages-tuple", async () => {
    const thread = await newThread();
    const events = await collect(
      client.runs.stream(thread, "agent", { input: say("What is 17 * 24?"), streamMode: "messages-tuple" }),
    );
    const tuples = listNamed(events, "messages") as [Message, { langgraph_node: string; thread_id: string }][];
    const { values } = await client.threads.getState<{ messages: Message[] }>(thread);
    const said = values.messages.at(-1);
    const tokens = tuples.filter(([message]) => message.id === said?.id);
    expect(tokens.length).toBeGreaterThan(5);
    expect(tokens.map(([message]) => message.content).join("")).toBe(said?.content);
    expect(tokens[0]?.[1]).toMatchObject({ langgraph_node: "agent", thread_id: thread });
    expect(said?.content).toContain("17 * 24 = 408.");
  });

  it("streams messages so far, and completes them", async () => {
    const events = await collect(
      client.runs.stream(await newThread(), "agent", { input: say("count to 5"), streamMode: "messages" }),
    );
    const partial = (listNamed(events, "messages/partial") as Message[][]).map(([message]) => message?.content.trim());
    expect(partial).toEqual(expect.arrayContaining(["1", "1 2", "1 2 3", "1 2 3 4 5"]));
    expect(listNamed(events, "messages/metadata").length).toBeGreaterThan(0);
    const complete = (listNamed(events, "messages/complete") as Message[][]).flat();
    expect(complete.at(-1)).toMatchObject({ type: "ai", content: "1 2 3 4 5" });
  });

  it("waits for a run", async () => {
    const values = (await client.runs.wait(await newThread(), "echo", { input: say("hi") })) as { messages: Message[] };
    expect(values.messages.at(-1)?.content).toBe("You said: hi");
  });

  it("joins an open run and one that has ended, from the start or from an event", async () => {
    const thread = await newThread();
    const input = say("count to 40");
    const options = { input, streamMode: ["messages-tuple" as const, "updates" as const], streamResumable: true };
    const { run_id } = await client.runs.create(thread, "agent", options);
    const join = (lastEventId: string) => collect(client.runs.joinStream(thread, run_id, { lastEventId }));
    const live = await join("-1");
    expect(listNamed(live, "messages").length).toBeGreaterThan(30);
    expect(await join("-1")).toEqual(live);
    const seen = live[10];
    expect(await join(seen?.id ?? "")).toEqual(live.slice(11));
    expect(await client.runs.get(thread, run_id)).toMatchObject({ status: "success" });
  });

  it("pauses approval at its interrupt, and continues with a command", async () => {
    const thread = await newThread();
    const paused = await client.runs.wait(thread, "approval", { input: say("Write to ada@example.com that it works") });
    expect(paused).toMatchObject({
      __interrupt__: [{ id: expect.any(String), value: { action_requests: [{ name: "send_email" }] } }],
    });
    expect(await client.threads.get(thread)).toMatchObject({ status: "interrupted" });
    const state = await client.threads.getState<{ sent: unknown[] }>(thread);
    expect(state.next).toEqual(["review"]);
    expect(state.tasks[0]?.interrupts).toHaveLength(1);
    expect(state.values.sent).toEqual([]);

    const command = { resume: { decisions: [{ type: "approve" }] } };
    const events = await collect(client.runs.stream(thread, "approval", { command, streamMode: "updates" }));
    expect(listNamed(events, "updates").flatMap((update) => Object.keys(update))).toEqual(["review", "tools", "agent"]);
    const { values } = await client.threads.getState<{ sent: { to: string }[] }>(thread);
    expect(values.sent).toMatchObject([{ to: "ada@example.com" }]);
    expect(await client.threads.get(thread)).toMatchObject({ status: "idle" });
  });

  it("names the subgraph of each event of research", async () => {
    const stream = client.runs.stream(await newThread(), "research", {
      input: say("Should we move to the edge?"),
      streamMode: ["updates", "messages-tuple"],
      streamSubgraphs: true,
    });
    const events = await collect(stream);
    const nested = new Set(events.map(({ event }) => event).filter((event) => event.startsWith("updates|")));
    expect(nested.size).toBe(2);
    for (const name of nested) expect(name).toMatch(/^updates\|tools:[0-9a-f-]{36}$/);
    expect(events.some(({ event }) => event.startsWith("messages|tools:"))).toBe(true);
    const top = listNamed(events, "updates").flatMap((update) => Object.keys(update));
    expect(top).toEqual(["agent", "tools", "tools", "agent"]);
  });

  it("passes an assistant's context to the graph, and reports a graph's error", async () => {
    const context = { system_prompt: "Answer as a pirate." };
    const assistant = await client.assistants.create({ graphId: "agent", name: version, context });
    const run = { input: say("hello") };
    const values = (await client.runs.wait(await newThread(), assistant.assistant_id, run)) as { messages: Message[] };
    expect(values.messages.at(-1)?.content).toContain("Answer as a pirate.");
    const bad = { input: say("hello"), context: { temperature: 9 }, streamMode: "values" as const } as never;
    const events = await collect(client.runs.stream(await newThread(), "agent", bad));
    expect(events.at(-1)).toMatchObject({
      event: "error",
      data: { error: expect.any(String), message: /temperature/ },
    });
  });

  it("cancels a run", async () => {
    const thread = await newThread();
    const { run_id } = await client.runs.create(thread, "agent", { input: say("count to 10000") });
    await client.runs.cancel(thread, run_id, true);
    expect(await client.runs.get(thread, run_id)).toMatchObject({ status: "interrupted" });
  });
});

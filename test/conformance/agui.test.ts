/** AG-UI's own client against `/agui/{assistant_id}`, with its verifier of event sequences switched on as always. */
import { HttpAgent, type Message, type RunAgentInput } from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";

let server: TestServer;
beforeAll(async () => {
  // The client logs each error that it also throws.
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  server = await sharedServer("graphs");
});
afterAll(() => server.stop());

type Event = Record<string, unknown> & { type: string };

interface Told {
  agent: HttpAgent;
  events: Event[];
  types: () => string[];
  ask: (text: string) => Promise<void>;
}

/** A client as the documentation has it: `connect` reads a thread. */
class Agent extends HttpAgent {
  protected override connect(input: RunAgentInput) {
    return new HttpAgent({ url: `${this.url}/connect`, headers: this.headers }).run(input);
  }
}

/** A client whose events are kept, each checked against the protocol's schema. */
function newAgent(assistant: string, threadId: string = crypto.randomUUID(), initialMessages: Message[] = []): Told {
  const url = `${server.url}/agui/${assistant}`;
  const agent = new Agent({ url, headers: { "x-api-key": server.key }, threadId, initialMessages });
  const events: Event[] = [];
  agent.subscribe({
    onEvent: ({ event }) => {
      events.push(EventSchemas.parse(event));
    },
  });
  const ask = async (content: string) => {
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
    await agent.runAgent();
  };
  return { agent, events, types: () => events.map(({ type }) => type), ask };
}

const contents = (agent: HttpAgent) => agent.messages.map(({ role, content }) => [role, content]);
const texts = (agent: HttpAgent) =>
  agent.messages.filter(({ role }) => role === "assistant").map(({ content }) => content);

describe("the client", () => {
  it("streams an answer, and continues the conversation", async () => {
    const { agent, ask, types, events } = newAgent("echo");
    await ask("hello");
    expect(contents(agent)).toEqual([
      ["user", "hello"],
      ["assistant", "You said: hello"],
    ]);
    expect(types()[0]).toBe("RUN_STARTED");
    expect(types().at(-1)).toBe("RUN_FINISHED");
    expect(events.at(-1)).toMatchObject({ outcome: { type: "success" } });
    expect(types()).toEqual(expect.arrayContaining(["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]));
    await ask("again");
    expect(contents(agent)).toHaveLength(4);
    expect(texts(agent).at(-1)).toBe("You said: again");
  });

  it("sees tool calls with their arguments and results, and what steps are at work", async () => {
    const { agent, ask, events, types } = newAgent("agent");
    await ask("What is 2*21? use the calculator");
    const args = events.filter(({ type }) => type === "TOOL_CALL_ARGS").map(({ delta }) => delta);
    expect(JSON.parse(args.join(""))).toEqual({ expression: "2*21" });
    expect(events.find(({ type }) => type === "TOOL_CALL_START")).toMatchObject({ toolCallName: "calculator" });
    expect(events.find(({ type }) => type === "TOOL_CALL_RESULT")).toMatchObject({ content: "42", role: "tool" });
    expect(types().filter((type) => type === "STEP_STARTED")).toHaveLength(3);
    expect(agent.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(agent.messages[1]).toMatchObject({ toolCalls: [{ function: { name: "calculator" } }] });
  });

  it("keeps its own messages when the server's snapshot comes: nothing is there twice", async () => {
    const { agent, ask, events } = newAgent("agent");
    await ask("What is 2*21? use the calculator");
    const snapshot = events.find(({ type }) => type === "MESSAGES_SNAPSHOT") as { messages: Message[] } | undefined;
    expect(snapshot?.messages.map(({ id }) => id)).toEqual(agent.messages.map(({ id }) => id));
    expect(new Set(agent.messages.map(({ id }) => id)).size).toBe(4);
  });

  it("answers an interrupt, and the run continues", async () => {
    const { agent, ask, events } = newAgent("approval");
    await ask("Send an email to Ann");
    expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "interrupt" } });
    const [interrupt] = agent.pendingInterrupts;
    expect(interrupt).toMatchObject({
      reason: "langgraph:interrupt",
      message: expect.stringContaining("Send this email"),
    });
    const payload = { decisions: [{ type: "approve" }] };
    await agent.runAgent({ resume: [{ interruptId: interrupt?.id ?? "", status: "resolved", payload }] });
    expect(events.at(-1)).toMatchObject({ outcome: { type: "success" } });
    expect(agent.pendingInterrupts).toEqual([]);
    expect((agent.state as { sent: unknown[] }).sent).toHaveLength(1);
  });

  it("learns why a request is refused", async () => {
    const { agent, ask } = newAgent("approval");
    await ask("Send an email to Ann");
    const strange = newAgent("approval", agent.threadId);
    await expect(
      strange.agent.runAgent({ resume: [{ interruptId: "absent", status: "resolved", payload: {} }] }),
    ).rejects.toThrow(/409/);
    await expect(newAgent("no-such-graph").agent.runAgent()).rejects.toThrow(/404/);
  });

  it("learns that a run failed, and that it was cancelled", async () => {
    const failed = newAgent("test_error_handling");
    await failed.agent.runAgent().catch(() => undefined);
    expect(failed.events.at(-1)).toMatchObject({
      type: "RUN_ERROR",
      message: expect.stringContaining("intentionally"),
    });

    const { agent, events } = newAgent("actor", crypto.randomUUID(), [{ id: "q", role: "user", content: "forever" }]);
    const cancelled = agent.runAgent();
    await expect.poll(() => events.length, { timeout: 20_000 }).toBeGreaterThan(0);
    const base = `${server.url}/threads/${agent.threadId}/runs`;
    const [run] = await (await fetch(base, { headers: server.headers })).json<{ run_id: string }[]>();
    await fetch(`${base}/${run?.run_id}/cancel`, { method: "POST", headers: server.headers });
    await cancelled;
    expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
  });

  it("follows a run again when it sends the same request a second time", async () => {
    const threadId = crypto.randomUUID();
    const runId = "the-run";
    const first = newAgent("agent", threadId, [{ id: "q", role: "user", content: "count to 20" }]);
    await first.agent.runAgent({ runId });
    const second = newAgent("agent", threadId, [{ id: "q", role: "user", content: "count to 20" }]);
    await second.agent.runAgent({ runId });
    const withoutSnapshots = ({ types }: Told) => types().filter((type) => type !== "MESSAGES_SNAPSHOT");
    expect(withoutSnapshots(second)).toEqual(withoutSnapshots(first));
    expect(contents(second.agent)).toEqual(contents(first.agent));
    const runs = await fetch(`${server.url}/threads/${threadId}/runs`, { headers: server.headers });
    expect(await runs.json()).toHaveLength(1);
  });

  it("that is new to a thread gets the whole conversation", async () => {
    const first = newAgent("echo", "a conversation of my own");
    await first.ask("one");
    const second = newAgent("echo", "a conversation of my own");
    await second.ask("two");
    expect(contents(second.agent).map(([, content]) => content)).toEqual([
      "one",
      "You said: one",
      "two",
      "You said: two",
    ]);
  });

  it("reads a thread: nothing at first, then the conversation, and what waits for an answer", async () => {
    const first = newAgent("approval");
    await first.agent.connectAgent();
    expect(first.types()).toEqual(["RUN_STARTED", "RUN_FINISHED"]);
    await first.ask("Send an email to Ann");
    const second = newAgent("approval", first.agent.threadId);
    await second.agent.connectAgent();
    expect(second.agent.messages).toEqual(first.agent.messages);
    expect(second.agent.state).toEqual(first.agent.state);
    expect(second.agent.pendingInterrupts).toEqual(first.agent.pendingInterrupts);
    const [interrupt] = second.agent.pendingInterrupts;
    const payload = { decisions: [{ type: "approve" }] };
    await second.agent.runAgent({ resume: [{ interruptId: interrupt?.id ?? "", status: "resolved", payload }] });
    expect((second.agent.state as { sent: unknown[] }).sent).toHaveLength(1);
    await expect(newAgent("no-such-graph").agent.connectAgent()).rejects.toThrow(/404/);
  });

  it("joins a run that is at work, from its beginning", async () => {
    const first = newAgent("actor", crypto.randomUUID(), [{ id: "q", role: "user", content: "slow" }]);
    const running = first.agent.runAgent();
    await expect.poll(() => first.types(), { timeout: 20_000 }).toContain("CUSTOM");
    const second = newAgent("actor", first.agent.threadId);
    await Promise.all([second.agent.connectAgent(), running]);
    const listCustomValues = ({ events }: Told) =>
      events.filter(({ type }) => type === "CUSTOM").map(({ value }) => value);
    expect(listCustomValues(second)).toEqual(listCustomValues(first));
    expect(listCustomValues(second)).toHaveLength(20);
    expect(second.agent.messages).toEqual(first.agent.messages);
    expect(second.events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "success" } });
  });

  it("has a message answered again, as it was or changed, without what came after it", async () => {
    const { agent, ask, types } = newAgent("echo");
    await ask("one");
    await ask("two");
    await ask("three");
    const readStored = async () => {
      const state = await fetch(`${server.url}/threads/${agent.threadId}/state`, { headers: server.headers });
      const { values } = await state.json<{ values: { messages: { content: string }[] } }>();
      return values.messages.map(({ content }) => content);
    };
    const messages = agent.messages as [Message, Message, Message];
    agent.setMessages(messages.slice(0, 3));
    await agent.runAgent();
    expect(await readStored()).toEqual(["one", "You said: one", "two", "You said: two"]);
    expect(agent.messages.map(({ content }) => content)).toEqual(await readStored());
    agent.setMessages([{ id: messages[0].id, role: "user", content: "other" }]);
    await agent.runAgent();
    expect(await readStored()).toEqual(["other", "You said: other"]);
    expect(agent.messages.map(({ content }) => content)).toEqual(await readStored());
    expect(types().at(-1)).toBe("RUN_FINISHED");
    await ask("four");
    expect(await readStored()).toEqual(["other", "You said: other", "four", "You said: four"]);
  });

  it("gets the events that a graph dispatches, and the messages and states that it emits so", async () => {
    const { events, ask, agent } = newAgent("actor");
    await ask("dispatch");
    const custom = events.filter(({ type }) => type === "CUSTOM").map(({ name, value }) => [name, value]);
    expect(custom).toEqual([
      ["halfway", { percent: 50 }],
      ["manually_emit_state", { topic: "soon" }],
    ]);
    const content = events.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta);
    expect(content).toEqual(["By hand.", "Done."]);
    expect(events.filter(({ type }) => type === "TOOL_CALL_ARGS")).toMatchObject([{ delta: '{"at":"sky"}' }]);
    const snapshots = events.filter(({ type }) => type === "STATE_SNAPSHOT").map(({ snapshot }) => snapshot);
    expect(snapshots.at(-1)).toEqual({ topic: "soon" });
    expect(agent.state).toMatchObject({ topic: "now" });
  });
});

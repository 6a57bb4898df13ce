import { evictDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { type Caller, newCaller, send } from "../../support/caller.ts";
import { checkAnswer, checkEvent } from "./protocol-schema.ts";
import { ALL, type Answer, command, type Event, human, isEnd, ofRoot, read } from "./client.ts";

type Json = Record<string, unknown>;

/** A client of the socket: commands with their answers, and the events so far. */
class Socket {
  readonly events: Event[] = [];
  readonly frames: Json[] = [];
  #lastId = 0;
  #changed: (() => void)[] = [];
  /** Why a frame is none of the protocol's. */
  #wrong: unknown;

  constructor(private readonly socket: WebSocket) {
    socket.addEventListener("message", ({ data }) => {
      const frame = JSON.parse(String(data)) as Json;
      this.frames.push(frame);
      if (frame.type === "event") this.events.push(frame as unknown as Event);
      try {
        (frame.type === "event" ? checkEvent : checkAnswer)(frame);
      } catch (error) {
        this.#wrong ??= error;
      }
      for (const changed of this.#changed.splice(0)) changed();
    });
    socket.accept();
  }

  async waitUntil<T>(find: () => T | undefined): Promise<T> {
    for (;;) {
      if (this.#wrong) throw this.#wrong;
      const found = find();
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
  }

  send(text: string): void {
    this.socket.send(text);
  }

  async command(method: string, params: Json = {}): Promise<Answer> {
    this.#lastId += 1;
    const id = this.#lastId;
    this.send(JSON.stringify({ id, method, params }));
    return this.waitUntil(() => this.frames.find((frame) => frame.id === id) as unknown as Answer | undefined);
  }

  async ends(count = 1): Promise<void> {
    await this.waitUntil(() => this.events.filter(isEnd).length >= count || undefined);
  }

  /** Resolves when the other side has closed too. */
  async close(code?: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.socket.addEventListener("close", () => resolve()));
    this.socket.close(code);
    await closed;
  }
}

async function open(caller: Caller, threadId: string, path = "/threads/:id/stream/events"): Promise<Socket> {
  const response = await caller.fetch(path.replace(":id", threadId), { headers: { upgrade: "websocket" } });
  expect(response.status).toBe(101);
  return new Socket(response.webSocket as WebSocket);
}

const start = { assistant_id: "_", input: human("What is 17 * 23?") };

describe("a WebSocket", () => {
  it.each([
    "/threads/:id/stream",
    "/threads/:id/stream/events",
    "/api/threads/:id/stream",
    "/api/threads/:id/stream/events",
  ])("on %s shows what SSE shows", async (path) => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const socket = await open(caller, thread, path);
    const subscribed = await socket.command("subscription.subscribe", { channels: ALL });
    expect(subscribed).toMatchObject({
      type: "success",
      result: { subscription_id: expect.any(String), replayed_events: 0 },
    });
    const started = await socket.command("run.start", start);
    expect(started).toMatchObject({ type: "success", meta: { thread_id: thread, applied_through_seq: 1 } });
    await socket.ends();
    expect(socket.events).toEqual(await read(caller, thread));
    await socket.close();
  });

  it("starts a subscription at the end for a run that has not begun", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", { assistant_id: "_", input: human("one") });
    await read(caller, thread);
    const body = { assistant_id: "echo", input: human("two"), after_seconds: 3_600 };
    const { run_id } = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    const socket = await open(caller, thread);
    const { result } = await socket.command("subscription.subscribe", { channels: ALL, since_run: run_id });
    expect(result.replayed_events).toBe(0);
    await caller.fetch(`/threads/${thread}/runs/${run_id}/cancel?wait=true`, { body: {} });
    await socket.ends();
    expect(socket.events[0]?.event_id).toContain(`synth:${run_id}:`);
    await socket.close();
  });

  it("replays to a later subscription from where it asks, in order, after its answer", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const socket = await open(caller, thread);
    await socket.command("subscription.subscribe", { channels: ["lifecycle"] });
    await socket.command("run.start", start);
    await socket.ends();
    const seen = socket.frames.length;
    const { result } = await socket.command("subscription.subscribe", { channels: ["values"], since: 5 });
    expect(socket.frames[seen]).toMatchObject({ type: "success" });
    const all = await read(caller, thread);
    const expected = all.filter(({ method, seq }) => method === "values" && seq > 5);
    expect(expected.length).toBeGreaterThan(0);
    expect(result.replayed_events).toBe(expected.length);
    await socket.waitUntil(() => socket.frames.length > seen + expected.length || undefined);
    expect(socket.frames.slice(seen + 1)).toEqual(expected);
    // From here on the first subscription is alone again.
    await socket.command("subscription.unsubscribe", { subscription_id: result.subscription_id });
    const before = socket.events.length;
    await socket.command("run.start", start);
    await socket.ends(2);
    expect(new Set(socket.events.slice(before).map((event) => event.method))).toEqual(new Set(["lifecycle"]));
    expect(ofRoot(socket.events)).toEqual(["running", "completed", "running", "completed"]);
  });

  it("shows a run's end after its values when the subscription to them comes a little later", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const socket = await open(caller, thread);
    await socket.command("run.start", start);
    await read(caller, thread);
    await socket.command("subscription.subscribe", { channels: ["lifecycle", "input"] });
    await new Promise((resolve) => setTimeout(resolve, 60));
    await socket.command("subscription.subscribe", { channels: ["values", "lifecycle", "input"] });
    await socket.ends();
    expect(socket.events.map(({ method }) => method)).toContain("values");
    expect(socket.events).toEqual(socket.events.toSorted((a, b) => a.seq - b.seq));
    await socket.close();
  });

  it("continues after its object hibernated, with nothing lost or repeated", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const socket = await open(caller, thread);
    await socket.command("subscription.subscribe", { channels: ALL });
    for (const run of [1, 2, 3]) {
      await socket.command("run.start", { assistant_id: "echo", input: human("hello") });
      await socket.ends(run);
      const { THREAD } = env;
      await evictDurableObject(THREAD.get(THREAD.idFromName(`${caller.workspaceId}:${thread}`)));
    }
    expect(socket.events).toEqual(await read(caller, thread, { channels: ALL, since: 0 }, { times: 3 }));
  });

  it("sees a thread of the same id begin again after it was deleted", async () => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    const socket = await open(caller, thread);
    await socket.command("subscription.subscribe", { channels: ["lifecycle"] });
    await socket.command("run.start", start);
    await socket.ends();
    await caller.fetch(`/threads/${thread}`, { method: "DELETE" });
    await socket.command("run.start", start);
    await socket.ends(2);
    expect(ofRoot(socket.events)).toEqual(["running", "completed", "running", "completed"]);
    expect(socket.events.filter(({ seq }) => seq === 1)).toHaveLength(2);
  });

  it("answers what it does not understand", async () => {
    const caller = await newCaller();
    const socket = await open(caller, crypto.randomUUID());
    for (const text of ["{", "[]", '{"id":"x","method":"run.start"}', '{"id":1}']) {
      const seen = socket.frames.length;
      socket.send(text);
      const answer = await socket.waitUntil(() => socket.frames[seen]);
      expect(answer).toMatchObject({ type: "error", id: null, error: "invalid_argument" });
    }
    for (const [method, params, error] of [
      ["subscription.subscribe", { channels: [] }, "invalid_argument"],
      ["subscription.subscribe", { channels: ["unheard"] }, "invalid_argument"],
      ["subscription.subscribe", {}, "invalid_argument"],
      ["subscription.unsubscribe", { subscription_id: "x" }, "no_such_subscription"],
      ["subscription.reconnect", { run_id: "x" }, "not_supported"],
      ["unheard", {}, "unknown_command"],
    ] as const) {
      expect(await socket.command(method, params)).toMatchObject({ type: "error", error });
    }
    const many = Array.from({ length: 60 }, (_, i) => `custom:${"x".repeat(150)}${i}`);
    const answers = [];
    for (let i = 0; i < 4; i++) answers.push((await socket.command("subscription.subscribe", { channels: many })).type);
    expect(answers).toContain("error");
    expect((await socket.command("run.start", start)).type).toBe("success");
    await socket.close(4001);
  });

  it("is refused with read scope only and without a credential; GET without an upgrade is a 426", async () => {
    const caller = await newCaller();
    const path = `/threads/${crypto.randomUUID()}/stream/events`;
    const made = await caller.fetch("/api/v1/api-keys", { body: { scopes: ["read"] } });
    const { key } = await made.json<{ key: string }>();
    const upgrade = { upgrade: "websocket" };
    expect((await send(path, { headers: { ...upgrade, "x-api-key": key } })).status).toBe(403);
    expect((await send(path, { headers: upgrade })).status).toBe(401);
    expect((await caller.fetch(path)).status).toBe(426);
  });

  it("cannot say that it is another", async () => {
    const [caller, other] = [await newCaller(), await newCaller()];
    const thread = crypto.randomUUID();
    await (
      await caller.fetch(`/threads/${thread}/commands`, { body: { id: 1, method: "run.start", params: start } })
    ).text();
    const claim = { principal: { workspaceId: caller.workspaceId, scopes: ["write"] }, configurable: {} };
    const response = await other.fetch(`/threads/${thread}/stream/events`, {
      headers: { upgrade: "websocket", "x-weir-caller": JSON.stringify(claim) },
    });
    const socket = new Socket(response.webSocket as WebSocket);
    expect((await socket.command("state.get", {})).error).toBe("no_such_run");
    expect((await socket.command("run.start", { ...start, assistant_id: "echo" })).type).toBe("success");
    const listed = await (
      await other.fetch("/threads/search", { body: { ids: [thread] } })
    ).json<{ thread_id: string }[]>();
    expect(listed.length).toBeLessThanOrEqual(1);
    expect((await caller.fetch(`/threads/${thread}/runs`).then((r) => r.json<unknown[]>())).length).toBe(1);
  });
});

/** Opens a socket as the Python SDK does: one for each subscription. What it shows is added to `shown`. */
async function subscribeAsPython(caller: Caller, threadId: string, channels: string[], shown: string[]) {
  const headers = { upgrade: "websocket", "user-agent": "Python/3.11 websockets/17.4" };
  const response = await caller.fetch(`/threads/${threadId}/stream/events`, { headers });
  const socket = response.webSocket as WebSocket;
  socket.addEventListener("message", ({ data }) => {
    const { method, params } = JSON.parse(String(data)) as Partial<Event>;
    if (method === "input.requested" || (method === "lifecycle" && params?.data.event !== "running"))
      shown.push([`${channels[0]}: ${method}`, params?.data.event].filter(Boolean).join(" "));
  });
  socket.accept();
  socket.send(JSON.stringify({ id: 1, method: "subscription.subscribe", params: { channels } }));
}

it("the Python SDK's sockets show an interrupt before the end of its iterators, as its streams over SSE do", async () => {
  const caller = await newCaller();
  const { thread_id } = await (await caller.fetch("/threads", { body: {} })).json<{ thread_id: string }>();
  const shown: string[] = [];
  await subscribeAsPython(caller, thread_id, ["lifecycle", "input"], shown);
  const input = human("Write to ada that it is green");
  await command(caller, thread_id, "run.start", { assistant_id: "approval", input });
  await subscribeAsPython(caller, thread_id, ["values", "lifecycle"], shown);
  await expect.poll(() => shown.at(-1), { timeout: 10_000 }).toBe("values: lifecycle completed");
  expect(shown).toEqual([
    "lifecycle: input.requested",
    "lifecycle: lifecycle interrupted",
    "values: lifecycle completed",
  ]);
});

import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get, newThread, parseFrames, say, stream } from "../client.ts";

interface Message {
  type: string;
  content: string;
  id: string;
}

describe("a run", () => {
  it("streams metadata, updates and values, and leaves its state", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const got = await stream(caller, thread, {
      assistant_id: "echo",
      input: say("hi"),
      stream_mode: ["updates", "values"],
    });
    expect(got.map((frame) => frame.event)).toEqual(["metadata", "values", "updates", "values"]);
    const state = await get<{ values: { messages: Message[] } }>(caller, `/threads/${thread}/state`);
    expect(state.values.messages.map((m) => [m.type, m.content])).toEqual([
      ["human", "hi"],
      ["ai", "You said: hi"],
    ]);
    expect(got.at(-1)?.data).toEqual(state.values);
  });

  it("streams tokens that add up to the message in the state", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const input = say("What is 17 * 23?");
    const got = await stream(caller, thread, {
      assistant_id: "agent",
      input,
      stream_mode: ["messages-tuple", "values"],
    });
    const sums = new Map<string, string>();
    for (const { event, data } of got) {
      if (event !== "messages") continue;
      const [message] = data as unknown as [Message];
      if (message.type === "AIMessageChunk") sums.set(message.id, (sums.get(message.id) ?? "") + message.content);
    }
    const { messages } = got.findLast((frame) => frame.event === "values")!.data as { messages: Message[] };
    const last = messages.filter((m) => m.type === "ai");
    expect(last.length).toBeGreaterThan(0);
    for (const message of last) expect(sums.get(message.id)).toBe(message.content);
  });

  it("takes `false` for an answer", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    await stream(caller, thread, {
      assistant_id: "approval",
      input: say("Send an email to ada@example.com saying hello"),
    });
    const got = await stream(caller, thread, {
      assistant_id: "approval",
      command: { resume: false },
      stream_mode: "values",
    });
    expect(got.map((frame) => frame.event)).not.toContain("error");
    expect(got.at(-1)?.data.sent ?? []).toEqual([]);
    expect(await get(caller, `/threads/${thread}`)).toMatchObject({ status: "idle" });
  });

  it("continues after its object was lost, and no finished node runs twice", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const body = { assistant_id: "agent", input: say("What is 17 * 23?"), stream_mode: ["updates"] };
    const run = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    for (let i = 0; i < 2; i++) {
      await new Promise((resolve) => setTimeout(resolve, 40));
      await abortAllDurableObjects();
      await caller.fetch(`/threads/${thread}`);
    }
    const joined = await caller.fetch(`/threads/${thread}/runs/${run.run_id}/join`);
    const values = await joined.json<{ messages: Message[] }>();
    expect(values.messages.at(-1)?.type).toBe("ai");
    const all = parseFrames(await (await caller.fetch(`/threads/${thread}/runs/${run.run_id}/stream`)).text());
    const steps = all.filter((frame) => frame.event === "updates").map((frame) => Object.keys(frame.data)[0]);
    expect(steps).toEqual(["agent", "tools", "agent"]);
  });
});

describe("concurrent runs on a thread", () => {
  it("are taken one after the other by default, and refused with `reject`", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const body = { assistant_id: "agent", input: say("hello") };
    const made = await Promise.all([1, 2, 3].map(async () => caller.fetch(`/threads/${thread}/runs`, { body })));
    const refused = await caller.fetch(`/threads/${thread}/runs`, { body: { ...body, multitask_strategy: "reject" } });
    expect(refused.status).toBe(409);
    const ids = await Promise.all(made.map(async (one) => (await one.json<{ run_id: string }>()).run_id));
    for (const id of ids) await get(caller, `/threads/${thread}/runs/${id}/join`);
    const runs = await get<{ status: string }[]>(caller, `/threads/${thread}/runs`);
    expect(runs.map((run) => run.status)).toEqual(["success", "success", "success"]);
    const { values } = await get<{ values: { messages: Message[] } }>(caller, `/threads/${thread}`);
    expect(values.messages.map((m) => m.type)).toEqual(["human", "ai", "human", "ai", "human", "ai"]);
  });

  it.each(["interrupt", "rollback"])(
    "take the place of one that waits for its time, and stream all of their events (%s)",
    async (multitask_strategy) => {
      const caller = await newCaller();
      const thread = await newThread(caller);
      const body = { assistant_id: "echo", input: say("hi") };
      await caller.fetch(`/threads/${thread}/runs`, { body: { ...body, after_seconds: 3_600 } });
      const frames = await stream(caller, thread, { ...body, multitask_strategy });
      expect(frames.map(({ event }) => event)).toEqual(["metadata", "values", "values"]);
      expect(frames[0]).toMatchObject({ data: { attempt: 1 } });
    },
  );
});

describe("another workspace", () => {
  it("sees nothing of a thread", async () => {
    const [one, other] = [await newCaller(), await newCaller()];
    const thread = await newThread(one);
    for (const path of ["", "/state", "/history", "/runs", "/storage"]) {
      expect((await other.fetch(`/threads/${thread}${path}`)).status).toBe(404);
    }
    const run = await other.fetch(`/threads/${thread}/runs`, { body: { assistant_id: "echo", input: {} } });
    expect(run.status).toBe(404);
  });
});

it("a run is pending in the answer that creates it, and its own status is read later", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const run = { assistant_id: "echo", input: say("hi") };
  const made = await (await caller.fetch(`/threads/${thread}/runs`, { body: run })).json<{ status: string }>();
  const alone = await (await caller.fetch("/runs", { body: run })).json<{ status: string }>();
  const many = await (await caller.fetch("/runs/batch", { body: [run, run] })).json<{ status: string }[]>();
  expect([made, alone, ...many].map(({ status }) => status)).toEqual(Array(4).fill("pending"));
});

describe("a cancellation of a run that has ended", () => {
  const cancel = async (caller: Caller, thread: string, run: string, query = "") =>
    caller.fetch(`/threads/${thread}/runs/${run}/cancel${query}`, { method: "POST" });

  it.each([
    ["", 202],
    ["?wait=1", 204],
    ["?action=rollback", 202],
  ])("succeeds, says how the run ended, and changes nothing: %s", async (query, status) => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    await stream(caller, thread, { assistant_id: "echo", input: say("hi") });
    const [run] = await get<{ run_id: string; status: string }[]>(caller, `/threads/${thread}/runs`);
    const before = await get(caller, `/threads/${thread}`);
    const answer = await cancel(caller, thread, String(run?.run_id), query);
    expect(answer.status).toBe(status);
    expect(answer.headers.get("x-weir-run-ended")).toBe("success");
    expect(await get(caller, `/threads/${thread}/runs`)).toEqual([run]);
    expect(await get(caller, `/threads/${thread}`)).toEqual(before);
  });

  it("does not say so of a run that it stops", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const body = { assistant_id: "echo", input: say("hi"), after_seconds: 3600 };
    const made = await caller.fetch(`/threads/${thread}/runs`, { body });
    const { run_id } = await made.json<{ run_id: string }>();
    const answer = await cancel(caller, thread, run_id, "?wait=1");
    expect([answer.status, answer.headers.get("x-weir-run-ended")]).toEqual([204, null]);
  });
});

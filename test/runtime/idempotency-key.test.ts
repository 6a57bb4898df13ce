/** `idempotency_key`: the same at every attempt of a task, another for every other task. */
import "../support/keyed-graphs.ts";
import { abortAllDurableObjects } from "cloudflare:test";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";
import { pickCases } from "../support/thorough.ts";
import { executions, FUNCTIONAL, HANDLED, hold, SHAPES, TOOLS } from "../support/keyed-graphs.ts";
import { get, newThread, say, stream } from "../threads/client.ts";

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
  executions.length = 0;
});

const input = { name: "" };

/** The key of each task. All executions of a task have one key, and no two tasks have the same one. */
function expectKeys(): Map<string, string> {
  const keys = new Map<string, string>();
  for (const [task, key] of executions) {
    expect(key, `${task} has a key`).toMatch(/^[0-9a-f-]{36}$/);
    expect(key, `${task} was executed with another key`).toBe(keys.get(task) ?? key);
    keys.set(task, key as string);
  }
  expect(new Set(keys.values()).size, "two tasks have the same key").toBe(keys.size);
  return keys;
}

/** A run whose process ends in the first execution of `task`; another attempt continues. */
async function runWithout(assistant_id: string, task: string, more: object = {}): Promise<string> {
  const thread = await newThread(caller);
  const reached = hold(task);
  const made = await caller.fetch(`/threads/${thread}/runs`, { body: { assistant_id, input, ...more } });
  const { run_id } = await made.json<{ run_id: string }>();
  await reached;
  await abortAllDurableObjects();
  await get(caller, `/threads/${thread}/runs/${run_id}/join`);
  expect(await get(caller, `/threads/${thread}/runs/${run_id}`)).toMatchObject({ status: "success" });
  expect(executions.filter(([name]) => name === task).length, `${task} ran once`).toBeGreaterThan(1);
  return thread;
}

describe("the key of a task whose process ended", () => {
  it.each(
    pickCases(["first", "right", "send 1", "again 1", "/one/only", "/two", "caller", "unsaved/two", "call 1/two"], 3),
  )("stays: %s", async (task) => {
    await runWithout("shapes", task);
    expect([...expectKeys().keys()].sort()).toEqual([...SHAPES].sort());
  });

  it.each(pickCases(["entry", "part 1", "whole 1/part 1", "whole 1/graph/two"], 2))(
    "stays in the functional API: %s",
    async (task) => {
      await runWithout("functional", task);
      expect([...expectKeys().keys()].sort()).toEqual([...FUNCTIONAL].sort());
    },
  );

  it.each(["bad 1", "bad 1/handler"])("stays where tasks fail and are handled: %s", async (task) => {
    await runWithout("handled", task);
    expect([...expectKeys().keys()].sort()).toEqual([...HANDLED].sort());
  });

  it.each(pickCases(["first", "again 1", "call 1/two"], 1))(
    "stays in a run that stores its end only: %s",
    async (task) => {
      await runWithout("shapes", task, { durability: "exit" });
      expectKeys();
    },
  );

  it("stays for the tools of an agent, each call with its own", async () => {
    await runWithout("assistant", "current_time", { input: say("What is 17 * 24, and what time is it in Tokyo?") });
    expect([...expectKeys().keys()].sort()).toEqual(TOOLS);
  });
});

describe("the key of a task", () => {
  it("is another in every run of a thread, and in a copy of the thread", async () => {
    const thread = await newThread(caller);
    const seen = new Set<unknown>();
    for (const on of [thread, thread, "copy"]) {
      executions.length = 0;
      const copied = on === "copy" && (await caller.fetch(`/threads/${thread}/copy`, { method: "POST" }));
      const { thread_id } = copied ? await copied.json<{ thread_id: string }>() : { thread_id: on };
      await stream(caller, thread_id, { assistant_id: "shapes", input });
      for (const key of expectKeys().values()) {
        expect(seen).not.toContain(key);
        seen.add(key);
      }
    }
  });

  it("is the same each time the retry policy executes the task", async () => {
    await stream(caller, await newThread(caller), { assistant_id: "flaky", input });
    const times = (name: string) => executions.filter(([task]) => task === name).length;
    expect(["flaky part", "flaky node", "flaky node/part", "flaky node/two"].map(times)).toEqual([3, 3, 3, 3]);
    expectKeys();
  });

  it("is the same when a run without input continues a thread that failed", async () => {
    const thread = await newThread(caller);
    await stream(caller, thread, { assistant_id: "failing", input });
    await stream(caller, thread, { assistant_id: "failing", input: null });
    expect(executions).toHaveLength(2);
    expectKeys();
  });

  it("is the same when an answer executes the node of an interrupt again, and another in a copy of the thread", async () => {
    const thread = await newThread(caller);
    await stream(caller, thread, { assistant_id: "asking", input });
    const asked = [...executions];
    const { thread_id: copy } = await (
      await caller.fetch(`/threads/${thread}/copy`, { method: "POST" })
    ).json<{ thread_id: string }>();

    await stream(caller, thread, { assistant_id: "asking", command: { resume: "yes" } });
    expect(executions.map(([task]) => task)).toEqual(["ask", "ask", "act"]);
    const keys = expectKeys();

    executions.splice(0, Infinity, ...asked);
    await stream(caller, copy, { assistant_id: "asking", command: { resume: "yes" } });
    expect(executions[1]?.[1]).not.toBe(keys.get("ask"));
    expect(executions[2]?.[1]).not.toBe(keys.get("act"));
  });

  it("is another when a run starts from an older checkpoint, or from a changed state", async () => {
    const thread = await newThread(caller);
    await stream(caller, thread, { assistant_id: "asking", input });
    await stream(caller, thread, { assistant_id: "asking", command: { resume: "yes" } });
    const history = await get<{ next: string[]; checkpoint: { checkpoint_id: string } }[]>(
      caller,
      `/threads/${thread}/history`,
    );
    const before = history.find(({ next }) => next[0] === "act")?.checkpoint.checkpoint_id;
    for (let i = 0; i < 2; i += 1)
      await stream(caller, thread, { assistant_id: "asking", input: null, checkpoint_id: before });
    for (let i = 0; i < 2; i += 1) {
      await caller.fetch(`/threads/${thread}/state`, {
        body: { values: {}, as_node: "question", checkpoint_id: before },
      });
      await stream(caller, thread, { assistant_id: "asking", input: null });
    }
    const acted = executions.filter(([task]) => task === "act").map(([, key]) => key);
    expect(acted).toHaveLength(5);
    expect(new Set(acted).size).toBe(5);
  });

  it("is not the client's choice", async () => {
    for (const assistant_id of ["shapes", "functional"]) {
      const config = { configurable: { idempotency_key: "mine" } };
      await stream(caller, await newThread(caller), { assistant_id, input, config });
    }
    expect(executions.length).toBe(SHAPES.length + FUNCTIONAL.length);
    for (const [, key] of executions) expect(key).not.toBe("mine");
    expectKeys();
  });

  it("shows in no stream and no trace", async () => {
    const frames = await stream(caller, await newThread(caller), {
      assistant_id: "shapes",
      input,
      stream_mode: ["values", "updates", "tasks", "debug", "events", "messages-tuple", "checkpoints"],
      stream_subgraphs: true,
    });
    const trace = await vi.waitFor(
      async () => {
        const [project] = await get<{ id: string }[]>(caller, "/api/v1/sessions?name=default");
        const found = await caller.fetch("/api/v1/runs/query", { body: { session: [project?.id] } });
        const text = await found.text();
        expect(text).toContain('"shapes"');
        return text;
      },
      { timeout: 10_000, interval: 50 },
    );
    const told = JSON.stringify(frames) + trace;
    expect(told).toContain("debug|nested:");
    const shown = [...expectKeys()].filter(([, key]) => told.includes(key)).map(([task]) => task);
    expect(shown).toEqual([]);
  });
});

/** Invalid input of clients, and its errors. Never a 5xx. */
import { describe, expect, it } from "vitest";
import { newCaller } from "../../support/caller.ts";
import { command, human, read } from "./client.ts";

const UUID = "01990000-0000-7000-8000-000000000000";

describe("an envelope that is none", () => {
  it.each<[string, unknown, number]>([
    ["malformed JSON", '{"id":1,', 400],
    ["no id", { method: "run.start" }, 422],
    ["an id that is no number", { id: "1", method: "run.start" }, 422],
    ["a negative id", { id: -1, method: "run.start" }, 422],
    ["no method", { id: 1 }, 422],
    ["params that are no object", { id: 1, method: "run.start", params: [1] }, 422],
    ["a list", [{ id: 1, method: "run.start" }], 422],
    ["null", "null", 422],
  ])("%s", async (_what, body, status) => {
    const caller = await newCaller();
    for (const path of ["/threads", "/api/threads"]) {
      const headers = { "content-type": "application/json" };
      const response = await caller.fetch(`${path}/${crypto.randomUUID()}/commands`, { body, headers });
      expect(response.status).toBe(status);
      expect((await response.json<{ detail: string }>()).detail.length).toBeGreaterThan(10);
    }
  });

  it("an id of a thread that is not URL-safe, and on the server's own routes no UUID", async () => {
    const caller = await newCaller();
    const paths = ["commands", "stream", "stream/events", "history", "state"];
    for (const path of paths.flatMap((one) => [`/api/threads/no%20thing/${one}`, `/threads/nothing/${one}`])) {
      const response = await caller.fetch(path, { body: { channels: [] } });
      expect(response.status).toBe(422);
    }
  });
});

describe("params", () => {
  const email = { message: { role: "user", content: "hi" } };
  it.each<[string, string, Record<string, unknown> | undefined, string]>([
    ["an unknown command", "run.stop", {}, "unknown_command"],
    ["a command of every object", "constructor", {}, "unknown_command"],
    ["no assistant", "run.start", { input: null }, "invalid_argument"],
    ["an unknown assistant", "run.start", { assistant_id: "absent", input: null }, "invalid_argument"],
    ["another's assistant", "run.start", { assistant_id: UUID, input: null }, "invalid_argument"],
    ["a config that is no object", "run.start", { assistant_id: "echo", config: [] }, "invalid_argument"],
    ["an unknown strategy", "run.start", { assistant_id: "echo", multitask_strategy: "win" }, "invalid_argument"],
    [
      "a limit out of range",
      "run.start",
      { assistant_id: "echo", config: { recursion_limit: -1 } },
      "invalid_argument",
    ],
    [
      "a checkpoint that is not there",
      "run.start",
      { assistant_id: "echo", config: { configurable: { checkpoint_id: UUID } } },
      "no_such_checkpoint",
    ],
    [
      "a checkpoint that is no id",
      "run.start",
      { assistant_id: "echo", config: { configurable: { checkpoint_id: 7 } } },
      "no_such_checkpoint",
    ],
    ["an answer to nothing", "input.respond", { namespace: [] }, "invalid_argument"],
    [
      "both kinds of answers",
      "input.respond",
      { interrupt_id: "a", responses: [{ interrupt_id: "a" }] },
      "invalid_argument",
    ],
    ["an answer where nothing waits", "input.respond", { interrupt_id: "a", response: 1 }, "no_such_interrupt"],
    ["a message of an invalid role", "input.inject", { message: { role: "ai", content: "x" } }, "invalid_argument"],
    ["a message to a subagent", "input.inject", { ...email, namespace: ["tools:x"] }, "not_supported"],
    ["keys that are no list", "state.get", { keys: "messages" }, "invalid_argument"],
    ["a namespace where nothing ran", "state.get", { namespace: ["nowhere:1"] }, "no_such_namespace"],
    ["a limit of nothing", "state.listCheckpoints", { limit: 0 }, "invalid_argument"],
    ["a fork of nothing", "state.fork", {}, "invalid_argument"],
    ["a fork of what is not there", "state.fork", { checkpoint_id: UUID }, "no_such_checkpoint"],
    ["a tree of no run", "agent.getTree", { run_id: UUID }, "no_such_run"],
    ["a run's id that is none", "agent.getTree", { run_id: "x" }, "invalid_argument"],
    ["a subscription over HTTP", "subscription.subscribe", { channels: ["values"] }, "not_supported"],
    ["no params", "input.respond", undefined, "invalid_argument"],
  ])("%s", async (_what, method, params, error) => {
    const caller = await newCaller();
    const thread = crypto.randomUUID();
    await command(caller, thread, "run.start", { assistant_id: "echo", input: human("hello") });
    await read(caller, thread);
    const answer = await command(caller, thread, method, params);
    expect(answer).toMatchObject({ type: "error", error });
    expect(answer.message.length).toBeGreaterThan(10);
  });

  it("are ignored when they are not known", async () => {
    const caller = await newCaller();
    const params = {
      assistant_id: "echo",
      input: human("hello"),
      strict_resume: true,
      multitaskStrategy: "enqueue",
      langsmith_tracer: { project_name: "p" },
      unheard: { of: 1 },
    };
    expect((await command(caller, crypto.randomUUID(), "run.start", params)).type).toBe("success");
  });
});

describe("a filter", () => {
  it.each<[string, unknown, number]>([
    ["no channels", {}, 422],
    ["channels that are no list", { channels: "values" }, 422],
    ["a namespace that is no list", { channels: [], namespaces: ["a"] }, 422],
    ["a negative since", { channels: [], since: -1 }, 422],
    ["malformed JSON", "{", 400],
  ])("%s", async (_what, body, status) => {
    const caller = await newCaller();
    const headers = { "content-type": "application/json" };
    for (const path of ["stream", "stream/events"]) {
      const response = await caller.fetch(`/threads/${crypto.randomUUID()}/${path}`, { body, headers });
      expect(response.status).toBe(status);
    }
  });

  it("with unknown channels, ids and members opens a stream", async () => {
    const caller = await newCaller();
    const body = { channels: ["unheard", "constructor"], since_event_id: "1-0", more: 1 };
    const response = await caller.fetch(`/threads/${crypto.randomUUID()}/stream`, {
      body,
      headers: { "last-event-id": "synth:x" },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    await response.body?.cancel();
  });
});

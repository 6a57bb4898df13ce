/** Runs of the demo graphs, always with the offline model. */
import assert from "node:assert/strict";
import { human } from "../../../test/support/api.ts";
import { sseEvents, type SseEvent } from "../../../test/support/sse.ts";
import type { Check, Smoke } from "../suite.ts";
import { newThread } from "./threads.ts";

interface Message {
  type: string;
  content: string;
}
interface State {
  messages: Message[];
  sent?: { to: string }[];
}

/** Options of every run: the offline model, and a project for traces that the cleanup deletes. */
export function options(smoke: Smoke) {
  const _langsmithTracer = { projectName: smoke.project } as never;
  return { context: { model: "offline" }, _langsmithTracer };
}

const listTypes = ({ messages }: State) => messages.map(({ type }) => type);

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function readEvents(response: Response, most = Infinity): Promise<SseEvent[]> {
  assert.equal(response.status, 200);
  const events: SseEvent[] = [];
  for await (const event of sseEvents(response)) {
    events.push(event);
    if (events.length >= most) break;
  }
  return events;
}

export const runs: Check[] = [
  {
    name: "runs: wait",
    graph: "echo",
    async run(smoke) {
      const thread = await newThread(smoke);
      const input = human("Is the gate open?");
      const state = (await smoke.client.runs.wait(thread, "echo", { input, ...options(smoke) })) as unknown as State;
      assert.equal(state.messages.at(-1)?.content, "You said: Is the gate open?");
      assert.deepEqual((await smoke.client.threads.getState<State>(thread)).values, state);
    },
  },
  {
    name: "runs: stateless",
    graph: "echo",
    async run(smoke) {
      const state = await smoke.client.runs.wait(null, "echo", { input: human("alone"), ...options(smoke) });
      assert.deepEqual(listTypes(state as unknown as State), ["human", "ai"]);
    },
  },
  {
    name: "runs: create, join, list",
    graph: "echo",
    async run(smoke) {
      const { runs } = smoke.client;
      const thread = await newThread(smoke);
      const { run_id } = await runs.create(thread, "echo", { input: human("later"), ...options(smoke) });
      assert.deepEqual(listTypes((await runs.join(thread, run_id)) as unknown as State), ["human", "ai"]);
      const listed = await runs.list(thread);
      assert.deepEqual(
        listed.map((run) => [run.run_id, run.status]),
        [[run_id, "success"]],
      );
    },
  },
  {
    name: "runs: stream with a tool call, token by token",
    graph: "agent",
    async run(smoke) {
      const thread = await newThread(smoke);
      const parts = await collect(
        smoke.client.runs.stream(thread, "agent", {
          input: human("What is 17 * 24?"),
          streamMode: ["messages-tuple", "values", "updates"],
          ...options(smoke),
        }),
      );
      assert.equal(parts[0]?.event, "metadata");
      const tokens = parts.filter(({ event }) => event === "messages").length;
      assert.ok(tokens > 5, `Only ${tokens} parts of messages came.`);
      const state = parts.findLast(({ event }) => event === "values")?.data as unknown as State;
      assert.deepEqual(listTypes(state), ["human", "ai", "tool", "ai"]);
      assert.match(state.messages[2]?.content ?? "", /408/);
    },
  },
  {
    name: "runs: cancel",
    graph: "agent",
    async run(smoke) {
      const { runs } = smoke.client;
      const thread = await newThread(smoke);
      const { run_id } = await runs.create(thread, "agent", { input: human("count to 5000"), ...options(smoke) });
      await runs.cancel(thread, run_id, true);
      assert.equal((await runs.get(thread, run_id)).status, "interrupted");
    },
  },
  {
    name: "runs: interrupt, and resume with a decision",
    graph: "approval",
    async run(smoke) {
      const { runs, threads } = smoke.client;
      const thread = await newThread(smoke);
      const input = human("Send an email to ada@example.com saying hello");
      await runs.wait(thread, "approval", { input, ...options(smoke) });
      assert.equal((await threads.get(thread)).status, "interrupted");
      const command = { resume: { decisions: [{ type: "approve" }] } };
      const state = (await runs.wait(thread, "approval", { command, ...options(smoke) })) as unknown as State;
      assert.deepEqual(
        state.sent?.map(({ to }) => to),
        ["ada@example.com"],
      );
      assert.equal((await threads.get(thread)).status, "idle");
    },
  },
  {
    name: "runs: replay by Last-Event-ID after a lost connection, every event once",
    graph: "agent",
    async run(smoke) {
      const thread = await newThread(smoke);
      const body = {
        assistant_id: "agent",
        input: human("count to 60"),
        stream_mode: ["messages-tuple", "values"],
        stream_resumable: true,
        context: { model: "offline" },
        langsmith_tracer: { project_name: smoke.project },
      };
      const started = await smoke.send("POST", `/threads/${thread}/runs/stream`, body);
      const run = started.headers.get("content-location") ?? "";
      const first = await readEvents(started, 10);
      const join = async (id: string) =>
        readEvents(await smoke.send("GET", `${run}/stream`, undefined, { "last-event-id": id }));
      const rest = await join(first.at(-1)?.id ?? "");
      const whole = await join("-1");
      assert.ok(rest.length > 0, "Nothing came after the lost connection.");
      assert.deepEqual([...first, ...rest], whole);
      assert.equal(new Set(whole.map(({ id }) => id)).size, whole.length, "An id came twice.");
    },
  },
];

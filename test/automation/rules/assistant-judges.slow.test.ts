/** An assistant as judge: which failures of its run are tried again, and with which run. */
import { AIMessage } from "@langchain/core/messages";
import { MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createApp } from "../../../src/app.ts";
import { settings } from "../../../src/config.ts";
import { graphs } from "../../../src/deployment.ts";
import { installLoopback } from "../../../src/http/loopback.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { newRule, readRule, sendRuns, workOnce } from "../../support/rules.ts";
import { NOON } from "../../support/traces.ts";

const app = createApp(settings);

let caller: Caller;
let clock = NOON + 7_200_000_000;

beforeEach(async () => {
  caller = await newCaller();
  await sendRuns(caller, (clock += 1_000_000), [{ name: "first" }]);
});
afterEach(() => {
  vi.useRealTimers();
  installLoopback(async (request, env, ctx) => app.fetch(request, env, ctx));
  vi.restoreAllMocks();
});

const evaluators = (prompt: string, assistant_id = "judges") => [
  {
    structured: {
      prompt: [["human", prompt]],
      schema: { type: "object", properties: { good: { type: "boolean" } }, required: ["good"] },
      model: { provider: "assistant", assistant_id },
    },
  },
];

it.each([
  [400, false],
  [404, false],
  [408, true],
  [409, true],
  [422, false],
  [429, true],
  [500, true],
  [503, true],
])("a run that is answered with %i is tried again: %s", async (status, isRetried) => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  installLoopback(async () => Response.json({ detail: "later" }, { status, headers: { "retry-after": "1" } }));
  const rule = await newRule(caller, { evaluators: evaluators("{input}") });
  await sendRuns(caller, (clock += 1_000_000), [{}]);
  await workOnce(caller, rule);
  expect((await readRule(caller, rule)).stats).toMatchObject({ taken: 1, failed: isRetried ? 0 : 1 });
  expect(await ask(caller, `/runs/rules/${rule.id}/logs`)).toMatchObject([
    { will_retry: isRetried, error: expect.stringContaining(String(status)) },
  ]);
});

/** What the runs of the graph do, one after the other, and the prompts that they got. */
let outcomes: (() => string | Promise<string>)[] = [];
const prompts: string[] = [];

const State = new StateSchema({ messages: MessagesValue });
graphs["judges"] = new StateGraph(State)
  .addNode("judge", async ({ messages }) => {
    prompts.push(messages.at(-1)?.text ?? "");
    return { messages: [new AIMessage(await (outcomes.shift() ?? (() => '{"good": true}'))())] };
  })
  .addEdge(START, "judge")
  .compile({ name: "judges" });

it.each<[string, () => string]>([
  [
    "failed",
    () => {
      throw new Error("out of order");
    },
  ],
  ["answered without JSON", () => "good, I think"],
  ["answered without a score", () => '{"fine": true}'],
])("a run that has %s is followed by a new one", async (_, outcome) => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  outcomes = [outcome];
  prompts.length = 0;
  const rule = await newRule(caller, { evaluators: evaluators("{name}") });
  await sendRuns(caller, (clock += 1_000_000), [{ name: "one" }]);
  await workOnce(caller, rule);
  expect((await readRule(caller, rule)).stats).toMatchObject({ done: 0, failed: 0, waiting: 1 });
  vi.setSystemTime(Date.now() + 60_000);
  await workOnce(caller, rule);
  expect((await readRule(caller, rule)).stats).toMatchObject({ done: 1, failed: 0 });
  expect(prompts).toEqual(["one", "one"]);
});

it("a run that a killed worker began is awaited by the next one", async () => {
  const gate = { isFree: false };
  outcomes = [
    async () => {
      while (!gate.isFree) await scheduler.wait(5);
      return '{"good": false}';
    },
  ];
  prompts.length = 0;
  const rule = await newRule(caller, { evaluators: evaluators("{name}") });
  await sendRuns(caller, (clock += 1_000_000), [{ name: "one" }]);
  // Its answer gets lost: this call does not end before the test does.
  void workOnce(caller, rule);
  await vi.waitFor(() => expect(prompts).toEqual(["one"]), 10_000);
  vi.setSystemTime(Date.now() + 60 * 60_000);
  const second = workOnce(caller, rule);
  gate.isFree = true;
  await second;
  expect((await readRule(caller, rule)).stats).toMatchObject({ done: 1 });
  expect(prompts).toEqual(["one"]);
});

it("a prompt that was changed after a kill has a new run", async () => {
  outcomes = [() => new Promise(() => undefined)];
  prompts.length = 0;
  const rule = await newRule(caller, { evaluators: evaluators("{name}") });
  await sendRuns(caller, (clock += 1_000_000), [{ name: "one" }]);
  void workOnce(caller, rule);
  await vi.waitFor(() => expect(prompts).toEqual(["one"]), 10_000);
  vi.setSystemTime(Date.now() + 60 * 60_000);
  const { id, display_name, ...given } = await ask<Record<string, unknown>>(caller, `/runs/rules/${rule.id}`);
  const changed = {
    display_name,
    sampling_rate: 1,
    session_id: given["session_id"],
    evaluators: evaluators("say {name}"),
  };
  await ask(caller, `/runs/rules/${String(id)}`, { method: "PATCH", body: changed });
  await workOnce(caller, rule);
  expect((await readRule(caller, rule)).stats).toMatchObject({ done: 1, failed: 0 });
  expect(prompts).toEqual(["one", "say one"]);
});

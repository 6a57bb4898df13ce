/** What the evaluators and webhooks of rules send, and what becomes of their answers. */
import { countCalls } from "../../../src/db/client.ts";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { workPart } from "../../../src/automation/rules/work.ts";
import { projectExports } from "../../../src/deployment.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { newRule, readRule, sendRuns, workOnce, workUntil } from "../../support/rules.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { DAY, NOON } from "../../support/traces.ts";
import { POLL_MS } from "../../support/thorough.ts";

const HOOK = "https://rules.example.com/hook";
const BASE = "https://models.example.com/v1";

let caller: Caller;
let clock = NOON + 3_600_000_000;
let sent: { url: string; headers: Headers; body: Record<string, unknown> }[];
let answers: (() => Response)[];

beforeEach(async () => {
  caller = await newCaller();
  sent = [];
  answers = [];
  stubFetch(async (url, init) => {
    sent.push({
      url,
      headers: new Headers(init.headers),
      body: JSON.parse(init.body as string) as Record<string, unknown>,
    });
    return (answers.shift() ?? (() => new Response()))();
  });
  await sendRuns(caller, (clock += 1_000_000), [{ name: "first" }]);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  delete projectExports.evaluators;
});

const send = (runs: Record<string, unknown>[]) => sendRuns(caller, (clock += 1_000_000), runs);
const feedback = (run: string) => ask<object[]>(caller, `/feedback?run=${run}`);

const completion = (content: string) => () =>
  Response.json({
    choices: [{ message: { content } }],
    usage: { prompt_tokens: 1_000_000, completion_tokens: 0 },
  });

const judge = (more: object = {}) => ({
  evaluators: [
    {
      structured: {
        prompt: [
          ["system", "You judge."],
          ["human", "Asked {question}, said {output}; {{not a name}}"],
        ],
        variable_mapping: { question: "input.q" },
        schema: {
          type: "object",
          properties: { good: { type: "boolean" }, comment: { type: "string" } },
          required: ["good"],
        },
        model: { provider: "openai", model: "gpt-4o-mini", base_url: BASE, api_key: "key-of-model" },
        ...more,
      },
    },
  ],
});

describe("a judge", () => {
  it("gets the run in its prompt; its answer is feedback with a cost", async () => {
    const rule = await newRule(caller, judge());
    answers = [completion('Here: {"good": true, "comment": "fine", "other": 1}')];
    const [run] = await send([{ inputs: { q: "why?" }, outputs: { a: 1 } }]);
    const { stats } = await workUntil(caller, rule, 1);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({
      url: `${BASE}/chat/completions`,
      body: {
        model: "gpt-4o-mini",
        messages: [
          { role: "system", content: "You judge." },
          { role: "user", content: 'Asked why?, said {"a":1}; {not a name}' },
        ],
        response_format: { type: "json_schema" },
      },
    });
    expect(sent[0]?.headers.get("authorization")).toBe("Bearer key-of-model");
    expect(await feedback(run!.id)).toMatchObject([{ key: "good", score: true, comment: "fine" }]);
    expect(stats.cost).toBeGreaterThan(0);
  });

  it("may be a model of Workers AI", async () => {
    const run = vi.fn<() => Promise<object>>(async () => ({ response: { score: 0.5 }, usage: {} }));
    const AI = { run };
    const rule = await newRule(caller, { evaluators: [{ structured: { prompt: [["system", "{input}"]] } }] });
    const [given] = await send([{}]);
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    await work(rule.id, { ...env, AI });
    expect(run).toHaveBeenCalledTimes(1);
    expect(await feedback(given!.id)).toMatchObject([{ key: "score", score: 0.5 }]);
  });

  it("that answers in another form is called again; one that refuses is not", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const rule = await newRule(caller, judge());
    answers = [completion('{"comment": "no score"}'), () => new Response("no", { status: 401 })];
    await send([{ name: "odd" }]);
    await workOnce(caller, rule);
    expect(await ask(caller, `/runs/rules/${rule.id}/logs`)).toMatchObject([
      { action: "evaluator", error: "The judge's answer lacks good.", will_retry: true },
    ]);
    await send([{ name: "refused" }]);
    await workUntil(caller, rule, 1, "failed");
    const logs = await ask<object[]>(caller, `/runs/rules/${rule.id}/logs`);
    expect(logs).toContainEqual(expect.objectContaining({ error: "The model answered 401.", will_retry: false }));
    expect((await readRule(caller, rule)).stats).toMatchObject({ taken: 2, failed: 1, waiting: 1 });
  });

  it("is not read further when its answer is too large", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    let sentBytes = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sentBytes += 64 * 1024;
        controller.enqueue(new Uint8Array(64 * 1024));
        // A judge that reads on would fail this test, not the isolate.
        if (sentBytes > 8 * 1024 * 1024) controller.close();
      },
    });
    const rule = await newRule(caller, judge());
    answers = [() => new Response(endless)];
    await send([{ name: "large" }]);
    await workUntil(caller, rule, 1, "failed");
    const logs = await ask<object[]>(caller, `/runs/rules/${rule.id}/logs`);
    expect(logs).toMatchObject([{ error: "The answer of the judge is too large.", will_retry: false }]);
    expect(sentBytes).toBeLessThan(1024 * 1024);
  });

  it("may be an assistant, whose own trace no rule takes", async () => {
    const evaluators = judge({ model: { provider: "assistant", assistant_id: "echo" } }).evaluators;
    // The assistant repeats its last message.
    evaluators[0]!.structured.prompt = [["human", '{{"good": false, "comment": "{name}"}}']];
    const rule = await newRule(caller, { evaluators });
    const [run] = await send([{ name: "mine" }]);
    await workUntil(caller, rule, 1);
    expect(await feedback(run!.id)).toMatchObject([{ key: "good", score: false, comment: "mine" }]);
  });
});

describe("a webhook", () => {
  it("gets the run with the rule's id, headers and delivery, signed", async () => {
    await ask(caller, "/api/v1/webhook-secrets", { method: "POST", body: {} }).catch(() => undefined);
    const rule = await newRule(caller, { webhooks: [{ url: HOOK, headers: { "x-own": "own" } }] });
    const [run] = await send([{ name: "a" }]);
    await workUntil(caller, rule, 1);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({ url: HOOK, body: { rule_id: rule.id, runs: [{ id: run!.id, inputs: { q: 0 } }] } });
    expect(sent[0]?.headers.get("x-own")).toBe("own");
    expect(sent[0]?.headers.get("weir-delivery")).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("a webhook whose address is no longer allowed", () => {
  it("fails, and is not called again", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const rule = await newRule(caller, { webhooks: [{ url: HOOK }] });
    await env.DB.prepare(
      "UPDATE run_rules SET actions = replace(actions, 'rules.example.com', '10.0.0.1') WHERE id = ?",
    )
      .bind(rule.id)
      .run();
    await send([{ name: "a" }]);
    await workUntil(caller, rule, 1, "failed");
    expect(sent).toEqual([]);
    expect(await ask(caller, `/runs/rules/${rule.id}/logs`)).toMatchObject([
      { action: "webhook", error: expect.stringContaining("must not name a private"), will_retry: false },
    ]);
  });
});

describe("after a kill", () => {
  it("an evaluation that was cut off is made again, and its feedback is there once", async () => {
    const began: string[] = [];
    let isKilled = true;
    projectExports.evaluators = {
      slow: async (run) => {
        began.push(run.id);
        // A worker that is killed answers nothing: this call never ends.
        if (isKilled) await new Promise(() => undefined);
        return { key: "slow", score: 1 };
      },
    };
    const rule = await newRule(caller, { code_evaluators: [{ code: "slow" }] });
    const [run] = await send([{ name: "a" }]);
    void workOnce(caller, rule);
    await vi.waitFor(() => expect(began).toEqual([run!.id]), POLL_MS);
    isKilled = false;
    // Another worker does not get the run before the lease of the first one ends.
    await workOnce(caller, rule);
    expect(began).toHaveLength(1);
    vi.setSystemTime(Date.now() + 13 * 60_000);
    await workUntil(caller, rule, 1);
    vi.useRealTimers();
    expect(began).toHaveLength(2);
    expect(await feedback(run!.id)).toHaveLength(1);
  });

  it("a run that kills every worker is given up, and takes no other run with it", async () => {
    let began: string[] = [];
    const test = { isOver: false };
    projectExports.evaluators = {
      deadly: async ({ name }) => {
        began.push(name);
        await scheduler.wait(20);
        // A kill ends all that the worker has begun.
        if (!began.includes("deadly")) return { key: "alive", score: 1 };
        while (!test.isOver) await scheduler.wait(20);
        return [];
      },
    };
    const rule = await newRule(caller, { code_evaluators: [{ code: "deadly" }] });
    const [deadly] = await send([{ name: "deadly" }, { name: "a" }, { name: "b" }]);
    const given: string[][] = [];
    for (let kill = 0; kill < 5; kill++) {
      began = [];
      void workOnce(caller, rule);
      await vi.waitFor(() => expect(began).toContain("deadly"), 10_000);
      await scheduler.wait(50);
      given.push(began);
      vi.setSystemTime(Date.now() + 13 * 60_000);
    }
    began = [];
    await workOnce(caller, rule);
    vi.useRealTimers();
    // The fourth time it is alone, so that the others come to an end.
    expect(given.slice(3)).toEqual([["deadly"], ["a", "b", "deadly"]]);
    expect(began).toEqual([]);
    expect((await readRule(caller, rule)).stats).toMatchObject({ taken: 3, done: 2, failed: 1 });
    expect(await ask(caller, `/runs/rules/${rule.id}/logs`)).toMatchObject([
      { run_id: deadly!.id, action: "code_evaluator", error: expect.stringContaining("5 attempts"), will_retry: false },
    ]);
    test.isOver = true;
  });
});

async function work(ruleId: string, bindings: Env): Promise<void> {
  while (await workPart(countCalls(bindings), { ruleId, day: DAY, shard: 0 }));
}

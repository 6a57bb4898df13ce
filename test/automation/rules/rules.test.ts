/** Rules on traced runs: which runs they take, what they do with them, and how often. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type EvaluatedRun, projectExports } from "../../../src/deployment.ts";
import { HIDDEN } from "../../../src/deliveries/receiver.ts";
import { isRunSampled } from "../../../src/traces/partition/rules.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask, newDataset } from "../../support/examples.ts";
import { newRule, readRule, type Rule, sendRuns, workOnce, workUntil } from "../../support/rules.ts";
import { NOON, projectId, runParts, sendMultipart, sentRun, uuid7 } from "../../support/traces.ts";

interface Feedback {
  id: string;
  run_id: string;
  key: string;
  score: number | null;
  comment: string | null;
  feedback_source: { type: string; metadata: { rule_id: string } };
}

let caller: Caller;
let clock = NOON;
let seen: EvaluatedRun[];

beforeEach(async () => {
  caller = await newCaller();
  seen = [];
  projectExports.evaluators = {
    seen: (run) => void seen.push(run),
    length: (run) => ({ key: "length", score: JSON.stringify(run.outputs).length, comment: run.name }),
    broken: () => {
      throw new Error("out of order");
    },
  };
  // A project exists from its first run on. This run is older than every rule.
  await sendRuns(caller, (clock += 1_000_000), [{ name: "first" }]);
});
afterEach(() => {
  delete projectExports.evaluators;
  vi.restoreAllMocks();
});

const send = (runs: Record<string, unknown>[]) => sendRuns(caller, (clock += 1_000_000), runs);
const code = (...names: string[]) => ({
  code_evaluators: names.map((name) => ({ code: name, language: "javascript" })),
});
const feedback = (run: string) => ask<Feedback[]>(caller, `/feedback?run=${run}`);
const readRefusal = async (more: object) => {
  const session_id = await projectId(caller);
  const body = { display_name: "rule", sampling_rate: 1, session_id, ...more };
  const response = await caller.fetch("/runs/rules", { body });
  return [response.status, (await response.json<{ detail: string }>()).detail] as const;
};

describe("a rule", () => {
  it("writes feedback on each run that comes after it, once, and counts it", async () => {
    const rule = await newRule(caller, code("length"));
    const [one, two] = await send([{ name: "a" }, { name: "b" }]);
    await workUntil(caller, rule, 2);
    const [given] = await feedback(one!.id);
    expect(given).toMatchObject({ key: "length", score: 7, comment: "a" });
    expect(given?.feedback_source).toMatchObject({ type: "auto_eval", metadata: { rule_id: rule.id } });
    expect(await feedback(two!.id)).toHaveLength(1);
    // The feedback is a change of the runs, which does not make the rule take them again.
    await workOnce(caller, rule);
    await workOnce(caller, rule);
    expect((await readRule(caller, rule)).stats).toEqual({ taken: 2, waiting: 0, done: 2, failed: 0, cost: 0 });
  });

  it("waits for the end of a run", async () => {
    const rule = await newRule(caller, code("seen"));
    const run = sentRun((clock += 1_000_000), { name: "long" });
    await sendMultipart(caller, runParts("post", run));
    await send([{ name: "short" }]);
    await workUntil(caller, rule, 1);
    expect(seen.map(({ name }) => name)).toEqual(["short"]);
    await sendMultipart(caller, runParts("patch", { ...run, end_time: "2026-11-20T17:49:59Z", outputs: { x: 1 } }));
    await workUntil(caller, rule, 2);
    expect(seen.map(({ name, outputs }) => [name, outputs])[1]).toEqual(["long", { x: 1 }]);
  });

  it.each<[object, string[]]>([
    [{ filter: 'eq(name, "b")' }, ["b"]],
    [{ filter: 'eq(status, "error")' }, ["c"]],
    [{ filter: 'and(eq(is_root, true), neq(name, "a"))' }, ["b", "c"]],
    [{ filter: 'has(tags, "vip")' }, ["a"]],
    [{ filter: 'eq(metadata_key, "tier")' }, ["b"]],
    [{ filter: 'and(eq(input_key, "q"), eq(input_value, "2"))' }, ["c"]],
    [{ trace_filter: 'eq(name, "a")' }, ["a", "child"]],
    [{ tree_filter: 'eq(name, "child")', filter: "eq(is_root, true)" }, ["a"]],
  ])("takes the runs of %j", async (filters, names) => {
    const rule = await newRule(caller, { ...code("seen"), ...filters });
    const [a] = await send([
      { name: "a", tags: ["vip"] },
      { name: "b", extra: { metadata: { tier: "1" } } },
      { name: "c", error: "no" },
    ]);
    // The child comes later than its root, and makes it match.
    await workOnce(caller, rule);
    const child = sentRun((clock += 1_000_000), { name: "child", end_time: "2026-11-20T17:49:55Z" }, a);
    await sendMultipart(caller, runParts("post", child));
    await workUntil(caller, rule, names.length);
    expect(seen.map(({ name }) => name).toSorted()).toEqual(names);
  });

  it("takes a part of the runs, which depends on their ids alone", async () => {
    const rule = await newRule(caller, { ...code("seen"), sampling_rate: 0.3 });
    const sent = await send(Array.from({ length: 60 }, () => ({})));
    const expected = sent.map(({ id }) => id).filter((id) => isRunSampled(id, 0.3));
    expect(expected.length).toBeGreaterThan(5);
    await workUntil(caller, rule, expected.length);
    await workOnce(caller, rule);
    expect(seen.map(({ id }) => id).toSorted()).toEqual(expected.toSorted());
  });

  it("takes earlier runs by a backfill, and none of them twice", async () => {
    const earlier = await send([{ name: "x" }, { name: "y" }]);
    const rule = await newRule(caller, code("seen"));
    await send([{ name: "z" }]);
    await workUntil(caller, rule, 1);
    const window = { start_time: earlier[0]!.start_time };
    const made = await ask<{ status: string }>(caller, `/runs/rules/${rule.id}/backfills`, { body: window });
    expect(made.status).toBe("running");
    await workUntil(caller, rule, 3);
    expect(seen.map(({ name }) => name)).toEqual(["z", "x", "y"]);
    expect(await readRule(caller, rule)).toMatchObject({ backfill_status: "completed", stats: { taken: 3 } });
  });

  it("adds runs to a queue and a dataset, once each", async () => {
    const { id: queue } = await ask<{ id: string }>(caller, "/annotation-queues", { body: { name: "q" } });
    const dataset = await newDataset(caller);
    const rule = await newRule(caller, { add_to_annotation_queue_id: queue, add_to_dataset_id: dataset });
    const [run] = await send([{ inputs: { q: "why" }, outputs: { a: "so" } }]);
    await workUntil(caller, rule, 1);
    expect(await ask(caller, `/annotation-queues/${queue}/runs`)).toMatchObject([{ id: run!.id }]);
    const examples = await ask<object[]>(caller, `/examples?dataset=${dataset}`);
    expect(examples).toMatchObject([{ inputs: { q: "why" }, outputs: { a: "so" }, source_run_id: run!.id }]);
  });

  it("does nothing while it is off, nor later with what came in the meantime", async () => {
    const rule = await newRule(caller, code("seen"));
    await send([{ name: "before" }]);
    await workUntil(caller, rule, 1);
    const session_id = await projectId(caller);
    const body = { display_name: "on", sampling_rate: 1, session_id, ...code("seen") };
    const change = (more: object) =>
      ask(caller, `/runs/rules/${rule.id}`, { method: "PATCH", body: { ...body, ...more } });
    await change({ is_enabled: false });
    await send([{ name: "meanwhile" }]);
    await workOnce(caller, rule);
    // The change of the runs has a time, which is before that of the rule.
    await scheduler.wait(5);
    await change({ is_enabled: true });
    await send([{ name: "later" }]);
    await workUntil(caller, rule, 2);
    expect(seen.map(({ name }) => name)).toEqual(["before", "later"]);
  });

  it("takes no run that an evaluator of a rule made", async () => {
    const rule = await newRule(caller, code("seen"));
    const own = sentRun((clock += 1_000_000), {
      name: "judge",
      end_time: "2026-11-20T17:49:55Z",
      extra: { metadata: { weir_rule_id: "x" } },
    });
    const child = sentRun(clock + 1_000, { name: "step of judge", end_time: "2026-11-20T17:49:55Z" }, own);
    await sendMultipart(caller, [...runParts("post", own), ...runParts("post", child)]);
    await send([{ name: "other" }]);
    await workUntil(caller, rule, 1);
    expect(seen.map(({ name }) => name)).toEqual(["other"]);
  });

  it("says on which runs it failed, and continues with the others", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const rule = await newRule(caller, code("seen", "broken"));
    const [run] = await send([{ name: "a" }]);
    await workUntil(caller, rule, 0);
    await vi.waitFor(async () => {
      await workOnce(caller, rule);
      const logs = await ask<object[]>(caller, `/runs/rules/${rule.id}/logs`);
      expect(logs).toMatchObject([
        { run_id: run!.id, action: "code_evaluator", error: "out of order", will_retry: true },
      ]);
    }, 10_000);
    // The action before has its result, and is not repeated with the one that failed.
    expect(seen).toHaveLength(1);
    expect((await readRule(caller, rule)).stats).toMatchObject({ waiting: 1, done: 0, failed: 0 });
  });

  it("is gone with its work after it is deleted", async () => {
    const rule = await newRule(caller, code("seen"));
    await ask(caller, `/runs/rules/${rule.id}`, { method: "DELETE" });
    await send([{ name: "a" }]);
    await workOnce(caller, rule);
    expect(seen).toEqual([]);
    expect((await caller.fetch(`/runs/rules/${rule.id}`)).status).toBe(404);
    expect(await ask<Rule[]>(caller, "/runs/rules")).toEqual([]);
  });
});

describe("the list of rules", () => {
  it("asks D1 as often for many rules as for one, and names what each acts on", async () => {
    const { id: queue } = await ask<{ id: string }>(caller, "/annotation-queues", { body: { name: "people" } });
    const dataset = await newDataset(caller);
    const one = await newRule(caller, { ...code("length"), add_to_annotation_queue_id: queue });
    await send([{}, {}]);
    await workUntil(caller, one, 2);
    const prepare = vi.spyOn(Object.getPrototypeOf(env.DB) as D1Database, "prepare");
    const statements = async () => {
      prepare.mockClear();
      const rules = await ask<Record<string, unknown>[]>(caller, "/runs/rules");
      return [prepare.mock.calls.length, rules] as const;
    };
    const [alone] = await statements();
    for (let count = 0; count < 3; count++) await newRule(caller, { add_to_dataset_id: dataset });
    await ask(caller, `/runs/rules/${one.id}/backfills`, { body: { start_time: "2026-11-20T00:00:00Z" } });
    const { id: newest } = await ask<{ id: string }>(caller, `/runs/rules/${one.id}/backfills`, {
      body: { start_time: "2026-11-20T00:00:00Z" },
    });
    const [together, rules] = await statements();
    expect(together).toBe(alone);
    expect(rules).toMatchObject([
      {
        session_name: "tests",
        add_to_annotation_queue_name: "people",
        add_to_dataset_name: null,
        backfill_id: newest,
        stats: { taken: 2, done: 2 },
      },
      ...Array.from({ length: 3 }, () => ({
        add_to_annotation_queue_name: null,
        add_to_dataset_name: expect.any(String),
        backfill_id: null,
        stats: { taken: 0 },
      })),
    ]);
  });

  it("has pages of the rules that the request names", async () => {
    const rules: Rule[] = [];
    for (const display_name of ["one", "two", "three"])
      rules.push(await newRule(caller, { ...code("seen"), display_name }));
    const names = async (query: string) =>
      (await ask<Rule[]>(caller, `/runs/rules?${query}`)).map(({ display_name }) => display_name);
    expect(await names(`id=${rules[2]!.id}&limit=1`)).toEqual(["three"]);
    expect(await names(`id=${rules[0]!.id}&id=${rules[2]!.id}&limit=1&offset=1`)).toEqual(["three"]);
    expect(await names(`id=${crypto.randomUUID()}`)).toEqual([]);
  });
});

describe("a request for a rule", () => {
  it("is refused above 100 in a workspace, also beside others at once", async () => {
    const rule = await newRule(caller, code("seen"));
    await env.DB.prepare(
      `INSERT INTO run_rules SELECT lower(hex(randomblob(16))), workspace_id, project_id, name, filter, trace_filter, tree_filter,
         sampling_rate, 0, actions, secrets, since, created_at, updated_at, pauses
       FROM run_rules, (SELECT 1 FROM json_each(?)) WHERE id = ?`,
    )
      .bind(JSON.stringify(Array.from({ length: 98 }, (_, at) => at)), rule.id)
      .run();
    const answers = await Promise.all([1, 2, 3].map(async () => readRefusal(code("seen"))));
    expect(answers.filter(([status]) => status === 409)).toHaveLength(2);
  });

  it.each<[object, number, string]>([
    [{}, 422, "give an action"],
    [{ sampling_rate: 2, ...code("seen") }, 422, "sampling_rate"],
    [{ filter: "eq(", ...code("seen") }, 400, "Invalid filter"],
    [code("unknown"), 422, "seen, length, broken"],
    [{ session_id: crypto.randomUUID(), ...code("seen") }, 404, "project not found"],
    [{ webhooks: [{ url: "http://10.0.0.1/" }] }, 422, "url must use https"],
    [{ webhooks: [{ url: "https://example.com/", headers: { "a b": "c" } }] }, 422, "name of a header"],
    [{ webhooks: [{ url: "https://example.com/", headers: { a: HIDDEN } }] }, 422, "body.webhooks.0.headers.a"],
    [{ add_to_dataset_id: crypto.randomUUID() }, 404, "Dataset not found"],
    [{ extend_only: true, ...code("seen") }, 422, "extend_only goes with no other action"],
    [{ evaluators: [{ structured: { prompt: [["system", "x"]], model: { provider: "no" } } }] }, 422, "provider"],
  ])("%j is answered with %i", async (more, status, text) => {
    expect(await readRefusal(more)).toEqual([status, expect.stringContaining(text)]);
  });

  it("keeps the secrets of a rule, and shows none", async () => {
    const webhooks = [{ url: "https://example.com/hook", headers: { authorization: "Bearer secret-of-hook" } }];
    const evaluators = [
      {
        structured: {
          prompt: [["system", "x"]],
          model: { provider: "openai", model: "m", base_url: "https://example.com/v1", api_key: "secret-of-model" },
        },
      },
    ];
    const rule = await newRule(caller, { webhooks, evaluators });
    expect(JSON.stringify(rule)).not.toContain("secret-of");
    expect(rule.webhooks?.[0]?.headers).toEqual({ authorization: "********" });
    const session_id = await projectId(caller);
    const body = {
      display_name: "again",
      sampling_rate: 1,
      session_id,
      webhooks: rule.webhooks,
      evaluators: rule.evaluators,
    };
    const changed = await ask<Rule>(caller, `/runs/rules/${rule.id}`, { method: "PATCH", body });
    expect(changed.evaluators?.[0]?.structured.model).toMatchObject({ api_key: "********" });
    const row = await env.DB.prepare("SELECT secrets FROM run_rules WHERE id = ?")
      .bind(rule.id)
      .first<string>("secrets");
    expect(row).not.toContain("secret-of");
    // Another address does not get the key of this one.
    const moved = structuredClone(body) as unknown as { evaluators: { structured: { model: { base_url: string } } }[] };
    moved.evaluators[0]!.structured.model.base_url = "https://other.example.com/v1";
    const answer = await caller.fetch(`/runs/rules/${rule.id}`, { method: "PATCH", body: moved });
    expect([answer.status, (await answer.json<{ detail: string }>()).detail]).toEqual([
      422,
      expect.stringContaining("body.evaluators.0.structured.model.api_key: ******** keeps a stored value"),
    ]);
    const added = {
      ...body,
      webhooks: [{ ...body.webhooks?.[0], headers: { authorization: HIDDEN, "x-more": HIDDEN } }],
    };
    expect((await caller.fetch(`/runs/rules/${rule.id}`, { method: "PATCH", body: added })).status).toBe(422);
  });
});

describe("sampling", () => {
  it("takes about the part that it names, and smaller parts are of larger ones", () => {
    const ids = Array.from({ length: 20_000 }, (_, at) => uuid7(NOON + at * 1_000, String(at).padStart(12, "0")));
    const tenth = ids.filter((id) => isRunSampled(id, 0.1));
    expect(Math.abs(tenth.length - 2_000)).toBeLessThan(200);
    expect(tenth.every((id) => isRunSampled(id, 0.2))).toBe(true);
    expect(ids.some((id) => isRunSampled(id, 0))).toBe(false);
  });
});

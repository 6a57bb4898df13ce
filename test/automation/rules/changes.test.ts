/** Rules that change, are paused, or lose what they need, while runs wait. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Caller, newCaller, ADMIN_KEY, send as sendTo } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { newRule, readRule, type Rule, sendRuns, workOnce } from "../../support/rules.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { DAY, NOON, projectId } from "../../support/traces.ts";
import { tracePartition } from "../../../src/traces/stub.ts";
import { projectExports } from "../../../src/deployment.ts";

let caller: Caller;
let clock = NOON;
/** The calls that were answered, and the hosts that do not answer. */
let sent: { host: string; run: string; delivery: string | null }[];
let down: Set<string>;

beforeEach(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  caller = await newCaller();
  [sent, down] = [[], new Set()];
  stubFetch(async (url, init) => {
    const { runs } = JSON.parse(init.body as string) as { runs: { id: string }[] };
    const host = new URL(url).hostname.split(".")[0] ?? "";
    const isDown = down.has(host);
    const delivery = new Headers(init.headers).get("weir-delivery");
    if (!isDown) sent.push({ host, run: runs[0]?.id ?? "", delivery });
    return new Response(null, { status: isDown ? 503 : 200 });
  });
  await send([{ name: "first" }]);
});
afterEach(() => {
  delete projectExports.evaluators;
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const send = (runs: Record<string, unknown>[]) => sendRuns(caller, (clock += 1_000_000), runs);
const hook = (host: string, more: object = {}) => ({ url: `https://${host}.example.com/x`, ...more });
const hosts = () => sent.map(({ host }) => host);
const newQueue = async () => (await ask<{ id: string }>(caller, "/annotation-queues", { body: { name: "q" } })).id;
const countItems = async (queue: string) => (await ask<object[]>(caller, `/annotation-queues/${queue}/runs`)).length;
const change = async (rule: Rule, more: object) => {
  const body = { display_name: "rule", sampling_rate: 1, session_id: await projectId(caller), ...more };
  return ask<Rule>(caller, `/runs/rules/${rule.id}`, { method: "PATCH", body });
};

/** The runs that wait are due now. */
async function makeDue(rule: Rule): Promise<void> {
  const partition = tracePartition(env, caller.workspaceId, { projectId: await projectId(caller), day: DAY, shard: 0 });
  const waiting = await partition.listForRule({ rule: rule.id, state: "due", limit: 10 });
  await partition.settleForRule(
    rule.id,
    waiting.map(({ id }) => ({ id, state: "due", cost: 0, wait: 1 })),
  );
  await scheduler.wait(10);
}

async function workAgain(rule: Rule): Promise<Rule> {
  await makeDue(rule);
  await workOnce(caller, rule);
  return readRule(caller, rule);
}

it.each<[string, string[], string[], string[]]>([
  ["taken out before it", ["one", "two"], ["two"], ["one", "two"]],
  ["put before it", ["two"], ["one", "two"], ["one", "two"]],
  ["moved", ["one", "two"], ["two", "one"], ["one", "two"]],
  ["put behind it", ["one", "two"], ["one", "two", "three"], ["one", "three", "two"]],
  ["taken out while it fails", ["one", "two"], ["one"], ["one"]],
])("each webhook of a waiting run is called once when one is %s", async (_, before, after, called) => {
  const rule = await newRule(caller, { webhooks: before.map((host) => hook(host)) });
  const [run] = await send([{}]);
  down.add("two");
  await workOnce(caller, rule);
  await change(rule, { webhooks: after.map((host) => hook(host)) });
  down.clear();
  expect((await workAgain(rule)).stats).toMatchObject({ taken: 1, waiting: 0, done: 1 });
  expect(hosts().toSorted()).toEqual(called);
  expect(sent.every((one) => one.run === run?.id)).toBe(true);
});

it("an action that is added to the front of a rule is done with the runs that wait", async () => {
  const queue = await newQueue();
  const rule = await newRule(caller, { webhooks: [hook("one")] });
  await send([{}]);
  down.add("one");
  await workOnce(caller, rule);
  await change(rule, { webhooks: [hook("one")], add_to_annotation_queue_id: queue });
  down.clear();
  expect((await workAgain(rule)).stats).toMatchObject({ done: 1 });
  expect([await countItems(queue), hosts()]).toEqual([1, ["one"]]);
});

it("webhooks of one address keep their deliveries apart in another order, and each attempt has the same", async () => {
  const [a, b] = ["a", "b"].map((name) => hook("one", { headers: { [name]: "1" } }));
  const rule = await newRule(caller, { webhooks: [a, b, hook("two")] });
  await send([{}]);
  down.add("two");
  await workOnce(caller, rule);
  const first = sent.map(({ delivery }) => delivery);
  expect(new Set(first).size).toBe(2);
  await change(rule, { webhooks: [hook("two"), b, a] });
  down.clear();
  await workAgain(rule);
  expect(hosts()).toEqual(["one", "one", "two"]);
  expect(first).not.toContain(sent.at(-1)?.delivery);
});

it("an attempt that does an action begins the schedule anew", async () => {
  const calls: string[] = [];
  const fails = new Set(["a", "b", "c"]);
  projectExports.evaluators = Object.fromEntries(
    ["a", "b", "c"].map((name) => [
      name,
      () => {
        calls.push(name);
        if (fails.has(name)) throw new Error("out of order");
      },
    ]),
  );
  const rule = await newRule(caller, { code_evaluators: ["a", "b", "c"].map((code) => ({ code })) });
  await send([{}]);
  for (const name of ["a", "b", "c"]) {
    // Four failures are within the schedule of each action.
    for (let n = 0; n < 4; n++) await workAgain(rule);
    fails.delete(name);
  }
  expect((await workAgain(rule)).stats).toMatchObject({ done: 1, failed: 0 });
  expect(calls.filter((name) => name === "a")).toHaveLength(5);
});

it("a pause loses no run that came before it, and what comes in it is not taken", async () => {
  const queue = await newQueue();
  const add_to_annotation_queue_id = queue;
  const rule = await newRule(caller, { add_to_annotation_queue_id });
  const wait = () => scheduler.wait(5);
  for (let round = 0; round < 2; round++) {
    await wait();
    await send([{}, {}]);
    await wait();
    await change(rule, { add_to_annotation_queue_id, is_enabled: false });
    await wait();
    await send([{ name: "in the pause" }]);
    await workOnce(caller, rule);
    await wait();
    await change(rule, { add_to_annotation_queue_id, is_enabled: true });
  }
  await wait();
  await send([{}]);
  for (let n = 0; n < 3; n++) await workOnce(caller, rule);
  expect((await readRule(caller, rule)).stats).toMatchObject({ taken: 5, done: 5 });
});

const admin = async <T>(path: string, body?: object) => {
  const headers = { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId };
  return (await sendTo(path, { method: "POST", ...(body && { body }), headers })).json<T>();
};
const newKey = async () => (await admin<{ id: string }>("/api/v1/encryption-keys")).id;
interface Shown extends Rule {
  error: string | null;
}
const list = () => ask<Shown[]>(caller, "/runs/rules");

it("a rule whose filter reads what is encrypted says so in lists and in its log, and goes on with another filter", async () => {
  const queue = await newQueue();
  const body = { add_to_annotation_queue_id: queue };
  const rule = await newRule(caller, { ...body, filter: 'search(inputs, "needle")' });
  expect(await list()).toMatchObject([{ error: null }]);
  await newKey();
  const [run] = await send([{ name: "named", inputs: { q: "the needle" } }]);
  await workOnce(caller, rule);
  const reason = expect.stringContaining("encrypts") as string;
  expect(await list()).toMatchObject([{ error: reason, stats: { taken: 0 } }]);
  const log = () => ask<object[]>(caller, `/runs/rules/${rule.id}/logs`);
  expect(await log()).toMatchObject([{ run_id: null, action: "filter", error: reason, will_retry: true }]);
  await change(rule, { ...body, filter: 'eq(name, "named")' });
  await workOnce(caller, rule);
  expect(await list()).toMatchObject([{ error: null, stats: { taken: 1, done: 1 } }]);
  expect(await log()).toEqual([]);
  expect(await ask<object[]>(caller, `/annotation-queues/${queue}/runs`)).toMatchObject([{ id: run?.id }]);
});

it("a rule does what needs no lost secret, says what is lost, and goes on when it is given again", async () => {
  const first = await newKey();
  const queue = await newQueue();
  const other = await newRule(caller, { webhooks: [hook("two")] });
  const rule = await newRule(caller, {
    add_to_annotation_queue_id: queue,
    webhooks: [hook("one", { headers: { authorization: "old" } })],
  });
  await send([{}, {}]);
  await newKey();
  await admin(`/api/v1/encryption-keys/${first}/destroy`, { confirm: first });
  await workOnce(caller, rule);
  expect(await list()).toMatchObject([
    { id: other.id, error: null },
    { id: rule.id, error: expect.stringContaining("Give them again") as string, webhooks: [{ headers: null }] },
  ]);
  expect(await countItems(queue)).toBe(2);
  expect(await ask<object[]>(caller, `/runs/rules/${rule.id}/logs`)).toMatchObject([
    { action: "webhook", will_retry: true },
    { action: "webhook", will_retry: true },
  ]);
  await change(rule, {
    add_to_annotation_queue_id: queue,
    webhooks: [hook("one", { headers: { authorization: "new" } })],
  });
  const { stats, error } = (await workAgain(rule)) as Shown;
  expect([stats.done, error, hosts()]).toEqual([2, null, ["one", "one"]]);
});

it("a rule says that its queue, dataset or evaluator is gone", async () => {
  projectExports.evaluators = { seen: () => undefined };
  const queue = await newQueue();
  const rule = await newRule(caller, { add_to_annotation_queue_id: queue, code_evaluators: [{ code: "seen" }] });
  delete projectExports.evaluators;
  await ask(caller, `/annotation-queues/${queue}`, { method: "DELETE" });
  expect((await readRule(caller, rule)) as Shown).toMatchObject({
    error: "The annotation queue no longer exists. The deployment has no evaluator seen.",
  });
});

it("rules are listed when no key of the deployment opens the secrets of one", async () => {
  const rule = await newRule(caller, { webhooks: [hook("one", { headers: { authorization: "old" } })] });
  await env.DB.prepare("UPDATE run_rules SET secrets = '1.0123456789abcdef.AAAA' WHERE id = ?").bind(rule.id).run();
  expect(await list()).toMatchObject([{ id: rule.id, error: expect.stringContaining("Give them again") as string }]);
  const webhooks = [hook("one", { headers: { authorization: "new" } })];
  expect((await change(rule, { webhooks })) as Shown).toMatchObject({
    error: null,
    webhooks: [{ headers: { authorization: "********" } }],
  });
});

it("runs that waited on a day that is gone count as failed", async () => {
  const rule = await newRule(caller, { webhooks: [hook("one")] });
  await env.DB.prepare(
    "INSERT INTO rule_parts (rule_id, day, shard, change, taken, done, failed, cost, touched_at) VALUES (?, '2020-01-01', 0, 1, 7, 4, 1, 0, 0)",
  )
    .bind(rule.id)
    .run();
  expect((await readRule(caller, rule)).stats).toMatchObject({ taken: 7, done: 4, failed: 3, waiting: 0 });
});

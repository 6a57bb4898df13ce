/** Alerts that change, are paused, or lose what they need, while channels wait. */
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sweepAlerts } from "../../../src/automation/alerts/evaluate.ts";
import { countCalls } from "../../../src/db/client.ts";
import { ADMIN_KEY, type Caller, newCaller, send } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { sendRuns } from "../../support/rules.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { NOON, projectId } from "../../support/traces.ts";

interface Alert {
  id: string;
  state: string;
  error: string | null;
  channels: { type: string; headers?: object }[];
}
interface Change {
  id: string;
  delivery: string;
  attempts: number;
  error: string | null;
  channels: { type: string | null; delivery: string; error: string | null }[];
}

const MINUTE = 60_000;
const hook = (host: string, more: object = {}) => ({
  type: "webhook",
  url: `https://${host}.example.com/hook`,
  ...more,
});
let caller: Caller;
let sent: { host: string; delivery: string | null; body: Record<string, unknown> }[];
let down: Set<string>;
let now: number;

beforeEach(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  caller = await newCaller();
  [sent, down] = [[], new Set()];
  stubFetch(async (url, init) => {
    const host = new URL(url).hostname.split(".")[0] ?? "";
    const delivery = new Headers(init.headers).get("weir-delivery");
    if (!down.has(host))
      sent.push({ host, delivery, body: JSON.parse(init.body as string) as Record<string, unknown> });
    return new Response(null, { status: down.has(host) ? 503 : 200 });
  });
  now = NOON / 1000 + 90 * MINUTE;
  await sendRuns(caller, (now + 1_000) * 1000, [{ error: "no" }]);
});
afterEach(async () => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  await env.DB.prepare("UPDATE alerts SET is_enabled = 0 WHERE workspace_id = ?").bind(caller.workspaceId).run();
});

const buildBody = async (channels: object[], more: object = {}) => ({
  name: "errors",
  metric: "error_rate",
  threshold: 0.5,
  fire_after: 1,
  window_minutes: 30,
  channels,
  session_id: await projectId(caller),
  ...more,
});
const newAlert = async (channels: object[], more: object = {}) =>
  ask<Alert>(caller, "/api/v1/alerts", { body: await buildBody(channels, more) });
const put = async ({ id }: Alert, channels: object[], more: object = {}) =>
  ask<Alert>(caller, `/api/v1/alerts/${id}`, { method: "PUT", body: await buildBody(channels, more) });
const history = ({ id }: Alert) => ask<Change[]>(caller, `/api/v1/alerts/${id}/history`);
const sweep = (after: number) => sweepAlerts(countCalls(env), (now += after));
const sweepOn = async () => {
  for (let n = 0; n < 3; n++) await sweep(2 * MINUTE);
};
const hosts = () => sent.map(({ host }) => host);

it.each<[string, string[], string[], string[]]>([
  ["in another order", ["one", "two"], ["two", "one"], ["one", "two"]],
  ["without the first", ["two", "one"], ["one"], ["one", "two"]],
  ["without itself", ["one", "two"], ["two"], ["two"]],
  ["with one more", ["two", "one"], ["new", "one", "two"], ["one", "two"]],
])("a channel that was not reached is told once when the channels are stored %s", async (_, before, after, told) => {
  const alert = await newAlert(before.map((host) => hook(host)));
  down.add("one");
  await sweep(MINUTE);
  await put(
    alert,
    after.map((host) => hook(host)),
  );
  down.clear();
  await sweepOn();
  expect(hosts().toSorted()).toEqual(told);
  const isLeft = after.includes("one");
  expect(await history(alert)).toMatchObject([{ delivery: isLeft ? "delivered" : "cancelled" }]);
});

it("what is told of a change is the condition that was broken, under the same id at each attempt", async () => {
  const ids = new Set<string | null>();
  stubFetch(async (_, init) => {
    ids.add(new Headers(init.headers).get("weir-delivery"));
    return new Response(null, { status: 503 });
  });
  const alert = await newAlert([hook("one")]);
  await sweep(MINUTE);
  await put(alert, [hook("one")], { metric: "latency", threshold: 1000, name: "slow", filter: 'eq(name, "x")' });
  stubFetch(async (_, init) => {
    ids.add(new Headers(init.headers).get("weir-delivery"));
    sent.push({ host: "", delivery: null, body: JSON.parse(init.body as string) as Record<string, unknown> });
    return new Response();
  });
  await sweepOn();
  expect(sent.map(({ body }) => body)).toMatchObject([
    { type: "alert.firing", name: "errors", metric: "error_rate", threshold: 0.5, filter: null, value: 1 },
  ]);
  expect(ids.size).toBe(1);
});

it("a paused alert tells nobody, and its history says so", async () => {
  const alert = await newAlert([hook("one"), hook("two")]);
  down.add("one");
  await sweep(MINUTE);
  await put(alert, [hook("one"), hook("two")], { is_enabled: false });
  down.clear();
  await sweepOn();
  await put(alert, [hook("one"), hook("two")]);
  await sweepOn();
  expect(hosts()).toEqual(["two"]);
  expect(await history(alert)).toMatchObject([
    {
      delivery: "cancelled",
      error: "The alert is paused.",
      channels: [
        { type: "webhook", delivery: "cancelled" },
        { type: "webhook", delivery: "delivered", error: null },
      ],
    },
  ]);
});

it("the channels that were not reached are told again on request, and all when each was", async () => {
  const alert = await newAlert([hook("one"), hook("two")]);
  down.add("one");
  await sweep(MINUTE);
  for (let n = 0; n < 8; n++) await sweep(70 * MINUTE);
  const [change] = await history(alert);
  expect(change).toMatchObject({ delivery: "failed", attempts: 7, error: "The receiver answered 503." });
  const resend = () =>
    ask<Change>(caller, `/api/v1/alerts/${alert.id}/history/${change?.id}/resend`, { method: "POST" });
  down.clear();
  sent = [];
  expect(await resend()).toMatchObject({ delivery: "pending", attempts: 0 });
  await sweepAlerts(countCalls(env), Date.now() + 1_000);
  expect(hosts()).toEqual(["one"]);
  await resend();
  await sweepAlerts(countCalls(env), Date.now() + 1_000);
  expect(hosts()).toEqual(["one", "one", "two"]);
  expect(new Set(sent.map(({ delivery }) => delivery)).size).toBe(2);
  const other = await newAlert([]);
  const missing = await caller.fetch(`/api/v1/alerts/${other.id}/history/${change?.id}/resend`, { method: "POST" });
  expect(missing.status).toBe(404);
});

it("the notifications of one workspace do not keep those of another", async () => {
  const busy = `busy ${crypto.randomUUID()}`;
  await env.DB.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
     INSERT INTO delivery_events (id, workspace_id, owner, event, at, receivers, attempts, next_at)
     SELECT ?1 || i, ?1, 'none', '{}', 0, '[{"id":"x","state":"pending","error":null,"at":null}]', 0, 1 FROM n`,
  )
    .bind(busy)
    .run();
  await newAlert([hook("one")]);
  await sweep(MINUTE);
  expect(hosts()).toEqual(["one"]);
  await env.DB.prepare("DELETE FROM delivery_events WHERE workspace_id = ?").bind(busy).run();
});

const admin = async <T>(path: string, body?: object) => {
  const headers = { "x-api-key": ADMIN_KEY, "x-tenant-id": caller.workspaceId };
  return (await send(path, { method: "POST", ...(body && { body }), headers })).json<T>();
};
const newKey = async () => (await admin<{ id: string }>("/api/v1/encryption-keys")).id;
const list = () => ask<Alert[]>(caller, "/api/v1/alerts");

it("an alert whose secrets are lost says so in lists, fails to tell, and tells when they are given again", async () => {
  const first = await newKey();
  const other = await newAlert([]);
  const alert = await newAlert([hook("one", { headers: { authorization: "old" } })]);
  await newKey();
  await admin(`/api/v1/encryption-keys/${first}/destroy`, { confirm: first });
  await sweep(MINUTE);
  const lost = expect.stringContaining("Give them again") as string;
  expect(await list()).toMatchObject([
    { id: other.id, error: null },
    { id: alert.id, state: "firing", error: lost },
  ]);
  expect((await history(alert))[0]).toMatchObject({ delivery: "pending", error: lost });
  expect((await put(alert, [hook("one", { headers: { authorization: "new" } })])).error).toBeNull();
  await sweepOn();
  expect(hosts()).toEqual(["one"]);
});

it("an alert that cannot be evaluated says why, and is evaluated when it can be again", async () => {
  const alert = await newAlert([], { filter: 'search(inputs, "needle")' });
  await newKey();
  expect(await list()).toMatchObject([{ error: expect.stringContaining("encrypts") as string }]);
  await sweep(MINUTE);
  expect(await list()).toMatchObject([{ state: "ok", error: expect.stringContaining("encrypts") as string }]);
  await put(alert, []);
  await sweep(MINUTE);
  expect(await list()).toMatchObject([{ state: "firing", error: null }]);
});

it("alerts are listed when no key of the deployment opens the secrets of one", async () => {
  const alert = await newAlert([hook("one", { headers: { authorization: "old" } })]);
  await env.DB.prepare("UPDATE alerts SET secrets = '1.0123456789abcdef.AAAA' WHERE id = ?").bind(alert.id).run();
  expect(await list()).toMatchObject([{ id: alert.id, error: expect.stringContaining("Give them again") as string }]);
  const shown = await put(alert, [hook("one", { headers: { authorization: "new" } })]);
  expect(shown).toMatchObject({ error: null, channels: [{ headers: { authorization: "********" } }] });
});

/** Sweeps of alerts that meet, that are killed, and that an alert fails. */
import { countCalls } from "../../../src/db/client.ts";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { sweepAlerts } from "../../../src/automation/alerts/evaluate.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { sendRuns } from "../../support/rules.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { NOON, projectId } from "../../support/traces.ts";

interface Alert {
  id: string;
  state: string;
  state_since: string;
  value: number | null;
  evaluated_at: string | null;
}

const MINUTE = 60_000;
const URLS = ["https://one.example.com/hook", "https://two.example.com/hook", "https://three.example.com/hook"];

let caller: Caller;
let sent: string[];
/** Hosts that do not answer. */
let silent: Set<string>;
/** The time of the sweeps, milliseconds. */
let now: number;

beforeEach(async () => {
  caller = await newCaller();
  sent = [];
  silent = new Set();
  stubFetch(async (url) => {
    const { hostname } = new URL(url);
    sent.push(hostname.split(".")[0] ?? "");
    while (silent.has(hostname)) await scheduler.wait(5);
    return new Response();
  });
  now = NOON / 1000 + 90 * MINUTE;
  await sendRuns(caller, (now + 1_000) * 1000, [{ error: "no" }]);
});
afterEach(async () => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  // The sweep is that of all workspaces.
  await env.DB.prepare("UPDATE alerts SET is_enabled = 0 WHERE workspace_id = ?").bind(caller.workspaceId).run();
});

async function buildBody(more: object) {
  const channels = URLS.map((url) => ({ type: "webhook", url }));
  const usual = { name: "errors", metric: "error_rate", threshold: 0.5, fire_after: 1, window_minutes: 5, channels };
  return { ...usual, session_id: await projectId(caller), ...more };
}
const newAlert = async (more: object = {}) => ask<Alert>(caller, "/api/v1/alerts", { body: await buildBody(more) });
const read = ({ id }: Alert) => ask<Alert>(caller, `/api/v1/alerts/${id}`);
const history = ({ id }: Alert) => ask<object[]>(caller, `/api/v1/alerts/${id}/history`);
const sweep = (after: number) => sweepAlerts(countCalls(env), (now += after));

it("a sweep leaves the notifications of another one to it, and continues those of one that was killed", async () => {
  const alert = await newAlert();
  silent.add("two.example.com");
  const first = sweep(MINUTE);
  await vi.waitFor(() => expect(sent).toEqual(["one", "two"]), 10_000);
  await sweep(5_000);
  expect(sent).toEqual(["one", "two"]);
  expect(await history(alert)).toMatchObject([{ delivery: "pending", attempts: 1 }]);
  // The first sweep notes nothing for too long: it counts as killed. The channel that it has notified is not called again.
  const second = sweep(MINUTE);
  await vi.waitFor(() => expect(sent).toEqual(["one", "two", "two"]), 10_000);
  silent.clear();
  await Promise.all([first, second]);
  expect(sent.toSorted()).toEqual(["one", "three", "two", "two"]);
  expect(await history(alert)).toMatchObject([{ delivery: "delivered", attempts: 2, error: null }]);
});

it("a notification that is never noted is given up", async () => {
  const alert = await newAlert({ channels: [{ type: "webhook", url: URLS[0] }] });
  silent.add("one.example.com");
  const sweeps = [];
  for (let kill = 1; kill <= 7; kill++) {
    sweeps.push(sweep(MINUTE));
    await vi.waitFor(() => expect(sent).toHaveLength(kill), 10_000);
  }
  await sweep(MINUTE);
  expect(await history(alert)).toMatchObject([
    { delivery: "failed", attempts: 7, error: "The last attempt was cut off." },
  ]);
  silent.clear();
  await Promise.all(sweeps);
  expect(sent).toHaveLength(7);
});

it("an alert that cannot be measured keeps its state, and no other from its turn", async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined);
  const broken = await newAlert({ name: "broken" });
  const sound = await newAlert({ name: "sound" });
  await env.DB.prepare("UPDATE alerts SET filter = 'eq(' WHERE id = ?").bind(broken.id).run();
  // Before all alerts of other tests.
  for (const [at, { id }] of [broken, sound].entries())
    await env.DB.prepare("UPDATE alerts SET evaluated_at = ? WHERE id = ?")
      .bind(at - 10, id)
      .run();
  await sweepAlerts(countCalls(env), (now += MINUTE), 1);
  await sweepAlerts(countCalls(env), now, 1);
  expect(await read(sound)).toMatchObject({ value: 1, state: "firing" });
  expect(await read(broken)).toMatchObject({ value: null, state: "ok" });
});

it("a sweep that may ask D1 no more leaves alerts and notifications to the next one", async () => {
  const made: Alert[] = [];
  for (let n = 0; n < 12; n++) made.push(await newAlert({ name: `alert ${n}` }));
  const countEvaluated = async () => (await Promise.all(made.map(read))).filter(({ value }) => value === 1).length;
  let sweeps = 0;
  for (; (await countEvaluated()) < made.length && sweeps < 50; sweeps++)
    await sweepAlerts(countCalls(env, 20), (now += MINUTE));
  expect(sweeps).toBeGreaterThan(1);
  for (; sent.length < made.length * URLS.length && sweeps < 50; sweeps++)
    await sweepAlerts(countCalls(env, 20), (now += 1_000));
  expect(await countEvaluated()).toBe(made.length);
  expect(sent).toHaveLength(made.length * URLS.length);
});

it("a change by a request keeps an evaluation that was made since the request read the alert", async () => {
  const alert = await newAlert({ channels: [] });
  const fire = async () => {
    await sweep(MINUTE);
    expect(await read(alert)).toMatchObject({ state: "firing" });
  };
  const body = await buildBody({ name: "renamed", channels: [] });
  beforeUpdate("alerts", fire);
  const changed = await ask<Alert>(caller, `/api/v1/alerts/${alert.id}`, { method: "PUT", body });
  const shown = await read(alert);
  expect(changed).toEqual(shown);
  expect(shown).toMatchObject({ name: "renamed", state: "firing", value: 1, state_since: new Date(now).toISOString() });
  expect(shown.evaluated_at).toBe(new Date(now).toISOString());
});

/** Does `first` before the next statement that updates the table. */
function beforeUpdate(table: string, first: () => Promise<void>): void {
  const prototype = Object.getPrototypeOf(env.DB) as D1Database;
  // eslint-disable-next-line typescript/unbound-method -- It is called with the database below.
  const { prepare } = prototype;
  let isDone = false;
  const delayStatement = (statement: D1PreparedStatement): D1PreparedStatement =>
    new Proxy(statement, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as (...given: unknown[]) => unknown;
        if (name === "bind")
          return (...given: unknown[]) => delayStatement(method.apply(target, given) as D1PreparedStatement);
        return async (...given: unknown[]) => {
          await first();
          return method.apply(target, given);
        };
      },
    });
  vi.spyOn(prototype, "prepare").mockImplementation(function (this: D1Database, sql: string) {
    const statement = prepare.call(this, sql);
    if (isDone || !sql.startsWith(`update "${table}"`)) return statement;
    isDone = true;
    return delayStatement(statement);
  });
}

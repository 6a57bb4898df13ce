/** Alerts on traced runs: their figures, states, history and what their channels get. */
import { countCalls } from "../../../src/db/client.ts";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { sweepAlerts, nextState, type AlertProgress } from "../../../src/automation/alerts/evaluate.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ask } from "../../support/examples.ts";
import { sendRuns } from "../../support/rules.ts";
import { stubFetch } from "../../support/stub-fetch.ts";
import { NOON, projectId } from "../../support/traces.ts";

interface Alert {
  id: string;
  state: string;
  value: number | null;
  channels: Record<string, unknown>[];
}
interface Change {
  from: string;
  to: string;
  value: number | null;
  delivery: string;
  attempts: number;
  error: string | null;
}

const MINUTE = 60_000;
const HOOK = "https://alerts.example.com/hook";
const MAIL = { type: "email", provider: "resend", from: "a@example.com", to: ["b@example.com"] };

let caller: Caller;
let sent: { url: string; headers: Headers; body: Record<string, unknown> }[];
let answers: number[];
/** The time of the sweeps, milliseconds. */
let now: number;

beforeEach(async () => {
  caller = await newCaller();
  sent = [];
  answers = [];
  stubFetch(async (url, init) => {
    const body = JSON.parse(init.body as string) as Record<string, unknown>;
    sent.push({ url, headers: new Headers(init.headers), body });
    return new Response(null, { status: answers.shift() ?? 200 });
  });
  now = NOON / 1000;
  await sendRuns(caller, NOON - 86_400_000_000, [{ name: "long ago" }]);
});
afterEach(async () => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  // The sweep is that of all workspaces.
  await env.DB.prepare("UPDATE alerts SET is_enabled = 0 WHERE workspace_id = ?").bind(caller.workspaceId).run();
});

const send = (runs: Record<string, unknown>[]) => sendRuns(caller, (now + 1_000) * 1000, runs);

async function buildBody(more: object) {
  const usual = { name: "errors", metric: "error_rate", threshold: 0.5, channels: [{ type: "webhook", url: HOOK }] };
  return { ...usual, session_id: await projectId(caller), ...more };
}
const newAlert = async (more: object = {}) => ask<Alert>(caller, "/api/v1/alerts", { body: await buildBody(more) });
const read = ({ id }: Alert) => ask<Alert>(caller, `/api/v1/alerts/${id}`);
const history = ({ id }: Alert) => ask<Change[]>(caller, `/api/v1/alerts/${id}/history`);

async function nextMinute(): Promise<void> {
  now += MINUTE;
  await sweepAlerts(countCalls(env), now);
}

describe("an alert", () => {
  it("fires after some evaluations in a row, resolves after some, and tells each change once", async () => {
    const alert = await newAlert({ fire_after: 2, resolve_after: 2, window_minutes: 1 });
    const states: string[] = [];
    // Bad minutes are marked; a single one makes no alert, and a single good one ends none.
    for (const isBad of [true, false, true, true, false, true, false, false, false]) {
      await send([{ error: isBad ? "no" : undefined }, { error: isBad ? "no" : undefined }]);
      await nextMinute();
      states.push((await read(alert)).state);
    }
    expect(states).toEqual(["ok", "ok", "ok", "firing", "firing", "firing", "firing", "resolved", "resolved"]);
    expect(sent.map(({ body }) => [body["type"], body["value"]])).toEqual([
      ["alert.firing", 1],
      ["alert.resolved", 0],
    ]);
    expect(sent[0]?.body).toMatchObject({
      alert_id: alert.id,
      metric: "error_rate",
      threshold: 0.5,
      window_minutes: 1,
    });
    expect(await history(alert)).toMatchObject([
      { from: "firing", to: "resolved", value: 0, delivery: "delivered" },
      { from: "ok", to: "firing", value: 1, delivery: "delivered" },
    ]);
  });

  it("is evaluated once a minute, also when two sweeps run at once", async () => {
    const alert = await newAlert({ fire_after: 1, window_minutes: 1 });
    await send([{ error: "no" }]);
    now += MINUTE;
    await Promise.all([sweepAlerts(countCalls(env), now), sweepAlerts(countCalls(env), now)]);
    await sweepAlerts(countCalls(env), now + 1_000);
    expect(await history(alert)).toHaveLength(1);
    expect(sent).toHaveLength(1);
  });

  it.each<[string, object, number | null]>([
    ["the share of failed runs", { metric: "error_rate" }, 0.25],
    ["those of a filter", { metric: "error_rate", filter: 'eq(name, "x")' }, 0.5],
    ["a percentile of the latency", { metric: "latency", percentile: 0.99 }, 40],
    ["the sum of tokens", { metric: "tokens" }, 12],
    ["the cost", { metric: "cost" }, 0.5],
    ["the number of runs", { metric: "run_count" }, 4],
    ["the number of none", { metric: "run_count", min_runs: 0, filter: 'eq(name, "none")' }, 0],
    ["the mean of a score", { metric: "feedback_score", feedback_key: "good" }, 0.5],
    ["nothing with too few runs", { metric: "error_rate", min_runs: 5 }, null],
  ])("measures %s", async (_, more, value) => {
    const at = (seconds: number) => new Date(now + 1_000 + seconds * 1_000).toISOString();
    const usage = { usage_metadata: { input_tokens: 10, output_tokens: 2, total_tokens: 12, total_cost: 0.5 } };
    const [one, two] = await send([
      { name: "x", error: "no", end_time: at(1) },
      { name: "x", end_time: at(2) },
      { run_type: "llm", extra: { metadata: usage }, end_time: at(3) },
      { end_time: at(40.003) },
    ]);
    for (const [run, score] of [
      [one, 0],
      [two, 1],
    ] as const)
      await ask(caller, "/feedback", { body: { run_id: run!.id, key: "good", score } });
    const alert = await newAlert(more);
    await nextMinute();
    const { value: measured } = await read(alert);
    expect(measured === null ? null : Number(measured.toFixed(3))).toBe(value);
  });

  it("tells a channel again that did not answer, and no other", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const channels = [
      { type: "webhook", url: HOOK },
      { type: "slack", url: "https://slack.example.com/services/x" },
    ];
    const alert = await newAlert({ fire_after: 1, channels, window_minutes: 1 });
    answers = [200, 503];
    await send([{ error: "no" }]);
    await nextMinute();
    expect(await history(alert)).toMatchObject([
      { delivery: "pending", attempts: 1, error: "The receiver answered 503." },
    ]);
    await nextMinute();
    expect(await history(alert)).toMatchObject([{ delivery: "delivered", attempts: 2 }]);
    expect(sent.map(({ url }) => new URL(url).hostname)).toEqual([
      "alerts.example.com",
      "slack.example.com",
      "slack.example.com",
    ]);
    expect(sent[1]?.body).toEqual({
      text: expect.stringContaining("Firing: errors\nerror rate: 1 (alert at &gt; 0.5)"),
    });
    expect(sent[1]?.headers.get("weir-delivery")).toBe(sent[2]?.headers.get("weir-delivery"));
  });

  it.each<[string, string, string, object]>([
    ["resend", "https://api.resend.com/emails", "authorization", { to: ["b@example.com"], subject: "Test: errors" }],
    ["postmark", "https://api.postmarkapp.com/email", "x-postmark-server-token", { To: "b@example.com" }],
    ["sendgrid", "https://api.sendgrid.com/v3/mail/send", "authorization", { from: { email: "a@example.com" } }],
  ])("is tested by a mail of %s, whose key is not shown", async (provider, url, header, body) => {
    const mail = { type: "email", provider, api_key: "key-of-mail", from: "a@example.com", to: ["b@example.com"] };
    const alert = await newAlert({ channels: [mail] });
    expect(alert.channels[0]).toMatchObject({ api_key: "********" });
    const stored = await env.DB.prepare("SELECT secrets FROM alerts WHERE id = ?")
      .bind(alert.id)
      .first<string>("secrets");
    expect(stored).not.toContain("key-of-mail");
    const changed = await buildBody({ channels: alert.channels });
    await ask(caller, `/api/v1/alerts/${alert.id}`, { method: "PUT", body: changed });
    answers = [200, 401];
    const test = async () => ask(caller, `/api/v1/alerts/${alert.id}/test`, { method: "POST" });
    expect(await test()).toEqual({ channels: [{ type: "email", ok: true, error: null }] });
    expect(await test()).toMatchObject({ channels: [{ ok: false, error: "The receiver answered 401." }] });
    expect(sent[0]).toMatchObject({ url, body });
    expect(sent[0]?.headers.get(header)).toContain("key-of-mail");
    expect(await history(alert)).toEqual([]);
  });

  it("says that a channel failed whose address is no longer allowed", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const alert = await newAlert({ fire_after: 1, window_minutes: 1 });
    await env.DB.prepare(
      "UPDATE alerts SET channels = replace(channels, 'alerts.example.com', '10.0.0.1') WHERE id = ?",
    )
      .bind(alert.id)
      .run();
    await send([{ error: "no" }]);
    await nextMinute();
    const error = expect.stringContaining("must not name a private");
    expect(await history(alert)).toMatchObject([{ delivery: "pending", error }]);
    const tested = await ask(caller, `/api/v1/alerts/${alert.id}/test`, { method: "POST" });
    expect(tested).toMatchObject({ channels: [{ ok: false, error }] });
    expect(sent).toEqual([]);
  });

  it("shows no address of Slack, keeps it in a PUT, and requires it when the host changes", async () => {
    const channels = [{ type: "slack", url: "https://hooks.slack.com/services/T0/B0/secret-of-slack" }];
    const alert = await newAlert({ channels });
    expect(alert.channels).toEqual([{ type: "slack", url: "https://hooks.slack.com/********" }]);
    const row = await env.DB.prepare("SELECT channels || secrets AS held FROM alerts WHERE id = ?")
      .bind(alert.id)
      .first();
    expect(JSON.stringify(row)).not.toContain("secret-of-slack");
    const put = async (channels: object[]) =>
      caller.fetch(`/api/v1/alerts/${alert.id}`, { method: "PUT", body: await buildBody({ channels }) });
    expect((await put(alert.channels)).status).toBe(200);
    await ask(caller, `/api/v1/alerts/${alert.id}/test`, { method: "POST" });
    expect(sent.map(({ url }) => url)).toEqual([channels[0]?.url]);
    const moved = await put([{ type: "slack", url: "https://chat.example.com/********" }]);
    expect([moved.status, (await moved.json<{ detail: string }>()).detail]).toEqual([
      422,
      expect.stringContaining("body.channels.0.url: ******** keeps a stored value"),
    ]);
  });

  it("is not evaluated while it is off, and gone with its history when it is deleted", async () => {
    const alert = await newAlert({ fire_after: 1, is_enabled: false });
    await send([{ error: "no" }]);
    await nextMinute();
    expect(await read(alert)).toMatchObject({ state: "ok", value: null });
    await ask(caller, `/api/v1/alerts/${alert.id}`, { method: "DELETE" });
    expect((await caller.fetch(`/api/v1/alerts/${alert.id}`)).status).toBe(404);
  });
});

describe("a request for an alert", () => {
  it("is refused above 100 in a workspace, also beside others at once", async () => {
    const { id } = await newAlert({ is_enabled: false });
    await env.DB.prepare(
      `INSERT INTO alerts SELECT lower(hex(randomblob(16))), workspace_id, project_id, name, filter, is_enabled, condition, channels,
         secrets, state, streak, value, changed_at, evaluated_at, created_at, updated_at, error
       FROM alerts, (SELECT 1 FROM json_each(?)) WHERE id = ?`,
    )
      .bind(JSON.stringify(Array.from({ length: 98 }, (_, at) => at)), id)
      .run();
    const body = await buildBody({ is_enabled: false });
    const answers = await Promise.all([1, 2, 3].map(async () => caller.fetch("/api/v1/alerts", { body })));
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(2);
  });

  it.each<[object, number, string]>([
    [{ metric: "mood" }, 422, "metric"],
    [{ metric: "feedback_score" }, 422, "feedback_key"],
    [{ filter: "eq(" }, 400, "Invalid filter"],
    [{ session_id: crypto.randomUUID() }, 404, "project not found"],
    [{ channels: [{ type: "slack", url: "https://127.0.0.1/" }] }, 422, "url must not name a private"],
    [{ channels: [{ type: "email", provider: "resend", api_key: "k", from: "a", to: ["b"] }] }, 422, "e-mail address"],
    [{ treshold: 1 }, 422, "treshold"],
    [{ channels: [{ type: "webhook", url: HOOK, headers: { a: "********" } }] }, 422, "body.channels.0.headers.a"],
    [{ channels: [{ ...MAIL, api_key: "********" }] }, 422, "body.channels.0.api_key"],
    [{ channels: [{ type: "slack", url: "https://hooks.slack.com/********" }] }, 422, "body.channels.0.url"],
  ])("%j is answered with %i", async (more, status, text) => {
    const response = await caller.fetch("/api/v1/alerts", { body: await buildBody(more) });
    expect([response.status, (await response.json<{ detail: string }>()).detail]).toEqual([
      status,
      expect.stringContaining(text),
    ]);
  });
});

describe("states", () => {
  it("change after findings in a row, and not by what is unknown", () => {
    const after = { fireAfter: 2, resolveAfter: 2 };
    const walk = (from: AlertProgress, ...findings: ("breach" | "clear" | "unknown")[]) =>
      findings.reduce((at, finding) => nextState(at, finding, after), from);
    const ok = { state: "ok", streak: 0 } as const;
    expect(walk(ok, "breach", "unknown", "breach")).toEqual({ state: "firing", streak: 0 });
    expect(walk(ok, "breach", "clear", "breach")).toEqual({ state: "ok", streak: 1 });
    expect(walk({ state: "firing", streak: 0 }, "unknown", "unknown", "unknown")).toEqual({
      state: "firing",
      streak: 0,
    });
    expect(walk({ state: "resolved", streak: 0 }, "clear", "breach", "breach").state).toBe("firing");
  });
});

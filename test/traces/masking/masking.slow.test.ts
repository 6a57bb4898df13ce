/** Nothing of a trace that a rule masks is stored, by any way in. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { forgetMaskers } from "../../../src/traces/masking/store.ts";
import { type Caller, newCaller, send } from "../../support/caller.ts";
import {
  NOON,
  projectId,
  resolvePayloads,
  runParts,
  type Sent,
  sendMultipart,
  sentRun,
  readStoredRuns,
} from "../../support/traces.ts";

const MAIL = "jane@corp.example";
const RULES = [
  { type: "set", set: "email" },
  { type: "set", set: "iban" },
  { type: "regex", name: "employee", pattern: "EMP-[0-9]+" },
  { type: "path", name: "password", path: "$..password" },
];
const PATH = "/api/v1/masking-rules";

let caller: Caller;
const setRules = (rules: object[], by = caller) => by.fetch(PATH, { method: "PUT", body: { rules } });
beforeEach(async () => {
  caller = await newCaller();
  await setRules(RULES);
});

/** A run that has the address everywhere that a text may be. */
const createFull = (more: object = {}): Sent =>
  sentRun(NOON, {
    name: `mail to ${MAIL}`,
    tags: ["plain", MAIL],
    inputs: { messages: [{ role: "user", content: `I am ${MAIL}, EMP-123, DE89 3704 0044 0532 0130 00` }], [MAIL]: 1 },
    outputs: { text: MAIL, login: { password: "hunter2" } },
    error: `ValueError: ${MAIL}`,
    events: [{ name: "new_token", time: "2026-11-20T15:49:55Z", kwargs: { token: MAIL } }],
    extra: { metadata: { user: MAIL, thread_id: `t-${MAIL}` }, runtime: { who: MAIL } },
    serialized: { kwargs: { owner: MAIL } },
    end_time: "2026-11-20T15:49:56Z",
    ...more,
  });

/** Everything that is stored of the workspace's runs, with its objects in R2, as one text. */
async function readEverything(): Promise<string> {
  const runs = await resolvePayloads(await readStoredRuns(caller));
  const texts = [JSON.stringify(runs), JSON.stringify(await readStoredRuns(caller))];
  const objects = await env.BLOBS.list({ prefix: "" });
  for (const { key } of objects.objects.filter((one) => one.key.includes(caller.workspaceId))) {
    texts.push(key, (await (await env.BLOBS.get(key))?.text()) ?? "");
  }
  return texts.join("\n");
}

async function expectMasked(): Promise<void> {
  const text = await readEverything();
  for (const secret of [MAIL, "EMP-123", "DE89", "hunter2"]) expect(text).not.toContain(secret);
  for (const mark of ["email", "employee", "iban", "password"]) expect(text).toContain(`[masked:${mark}]`);
  expect(text).toContain("plain");
}

const WAYS: Record<string, () => Promise<Response>> = {
  "multipart, field by field": () => sendMultipart(caller, runParts("post", createFull())),
  "multipart, inline": () => {
    const run = createFull();
    return sendMultipart(caller, [{ name: `post.${run.id}`, data: JSON.stringify(run) }]);
  },
  "a batch": () => caller.fetch("/runs/batch", { body: { post: [createFull()], patch: [] } }),
  "a batch with numbers of more than 15 digits": () =>
    caller.fetch("/api/v1/runs/batch", {
      body: JSON.stringify({ post: [createFull()] }).replace('"role":"user"', '"role":"user","n":12345678901234567890'),
      headers: { "content-type": "application/json" },
    }),
  "one run": () => caller.fetch("/api/v1/runs", { body: createFull() }),
  "a patch": async () => {
    const run = createFull();
    await caller.fetch("/api/v1/runs", { body: { ...sentRun(NOON), ...pick(run), inputs: {} } });
    return caller.fetch(`/runs/${run.id}`, { method: "PATCH", body: run });
  },
};
const pick = ({ id, trace_id, dotted_order }: Sent) => ({ id, trace_id, dotted_order });

describe("what is sent as", () => {
  it.for(Object.entries(WAYS))("%s is masked before it is stored", async ([, sent]) => {
    expect((await sent()).status).toBe(202);
    await expectMasked();
  });

  it("a field of megabytes is masked in R2, its preview and what filters search", async () => {
    const filler = "lorem ipsum ".repeat(60_000);
    const run = createFull({ inputs: { a: `${MAIL} EMP-123 DE89370400440532013000 ${filler}${MAIL}` } });
    expect((await sendMultipart(caller, runParts("post", run))).status).toBe(202);
    await expectMasked();
    expect((await readStoredRuns(caller))[0]?.large?.inputs).toBeDefined();
  });

  it("a member twice, of which parsers read the last, is not stored as it was sent", async () => {
    const run = sentRun(NOON);
    const { id, ...light } = run;
    const inputs = `{"plain":"[masked:email][masked:employee][masked:iban][masked:password]","x":"${MAIL}","x":"ok"}`;
    await sendMultipart(caller, [
      { name: `post.${id}`, data: JSON.stringify({ id, ...light }) },
      { name: `post.${id}.inputs`, data: inputs },
      { name: `post.${id}.outputs`, data: `{"y":"\\u006aane@corp.example","big":123456789012345678901}` },
    ]);
    await expectMasked();
    expect(await readEverything()).toContain("123456789012345678901");
  });

  it("attachments keep what they hold and lose their names", async () => {
    const run = createFull();
    const names = [`${MAIL}.txt`, `x-${MAIL}`, "plain.txt"];
    const parts = names.map((name) => ({
      name: `attachment.${run.id}.${name}`,
      type: "text/plain",
      data: `of ${name.length}`,
    }));
    await sendMultipart(caller, [...runParts("post", run), ...parts]);
    await expectMasked();
    expect((await readStoredRuns(caller))[0]?.attachments).toHaveLength(3);
  });

  it("spans", async () => {
    const kv = (attributes: Record<string, string>) =>
      Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));
    const hex = crypto.randomUUID().replaceAll("-", "");
    const span = {
      traceId: hex,
      spanId: hex.slice(0, 16),
      name: `plain ${MAIL}`,
      startTimeUnixNano: `${NOON}000`,
      endTimeUnixNano: `${NOON}000`,
      attributes: kv({
        "langsmith.metadata.user": MAIL,
        "input.value": JSON.stringify({ text: `${MAIL} EMP-123 DE89370400440532013000`, password: "hunter2" }),
      }),
      events: [{ name: "exception", timeUnixNano: `${NOON}000`, attributes: kv({ "exception.message": MAIL }) }],
      status: { code: 2, message: MAIL },
    };
    const body = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
    const answer = await caller.fetch("/otel/v1/traces", { body, headers: { "langsmith-project": "tests" } });
    expect(answer.status).toBe(200);
    await expectMasked();
  });
});

it("Weir's own traces are masked, and the thread is not", async () => {
  const { thread_id } = await (await caller.fetch("/threads", { body: {} })).json<{ thread_id: string }>();
  const run = {
    assistant_id: "echo",
    input: { messages: [{ role: "user", content: `plain ${MAIL}` }] },
    metadata: { m: MAIL },
  };
  await (await caller.fetch(`/threads/${thread_id}/runs/wait`, { body: run })).text();
  await vi.waitFor(
    async () => {
      const id = await projectId(caller, "default");
      const text = await (await caller.fetch("/api/v1/runs/query", { body: { session: [id] } })).text();
      expect(text).toContain("plain [masked:email]");
      expect(text).not.toContain(MAIL);
    },
    { timeout: 10_000 },
  );
  expect(await (await caller.fetch(`/threads/${thread_id}/state`)).text()).toContain(MAIL);
});

/** 8,000 levels: deeper than a stack, and small enough for a light field. */
const DEEP = `${'{"a":'.repeat(8_000)}"${MAIL}"${"}".repeat(8_000)}`;

it.each([
  ["tags", "a run"],
  ["name", "a run"],
  ["inputs", "a run"],
  ["comment", "feedback"],
  ["value", "feedback"],
  ["correction", "feedback"],
])("%s of %s that nest deeper than the stack are refused or left out", async (name, of) => {
  const run = sentRun(NOON);
  const nestDeep = (value: object) =>
    JSON.stringify({ ...value, [name]: 0 }).replace(`"${name}":0`, `"${name}":${DEEP}`);
  const feedback = { run_id: run.id, trace_id: run.id, key: "k" };
  const { status } = await sendMultipart(caller, [
    { name: `post.${run.id}`, data: of === "a run" ? nestDeep(run) : JSON.stringify(run) },
    ...(of === "feedback" ? [{ name: `feedback.${run.id}`, data: nestDeep(feedback) }] : []),
  ]);
  expect([202, 207, 400, 422]).toContain(status);
  expect(await readEverything()).not.toContain(MAIL);
});

it("feedback is masked, also when it changes", async () => {
  const run = sentRun(NOON);
  await caller.fetch("/api/v1/runs", { body: run });
  const body = { run_id: run.id, key: "k", comment: MAIL, value: MAIL, correction: { password: "x" } };
  const { id } = await (await caller.fetch("/feedback", { body })).json<{ id: string }>();
  await caller.fetch(`/feedback/${id}`, { method: "PATCH", body: { comment: `EMP-1 ${MAIL}` } });
  const text = await (await caller.fetch(`/feedback/${id}`)).text();
  expect(JSON.parse(text)).toMatchObject({
    key: "k",
    comment: "[masked:employee] [masked:email]",
    value: "[masked:email]",
  });
  expect(text).not.toContain(MAIL);
});

describe("the rules of a workspace", () => {
  it("are its own, hold from the next request on, and can be taken away", async () => {
    const other = await newCaller();
    await other.fetch("/api/v1/runs", { body: createFull() });
    expect(
      await (await other.fetch("/api/v1/runs/query", { body: { session: [await projectId(other)] } })).text(),
    ).toContain(MAIL);
    expect(await (await other.fetch(PATH)).json()).toEqual({ rules: [] });
    await setRules([]);
    await caller.fetch("/api/v1/runs", { body: createFull() });
    expect(await readEverything()).toContain(MAIL);
  });

  it.for<[string, object]>([
    ["a pattern that looks back", { type: "regex", pattern: "(?<=a)b" }],
    ["a pattern of nothing", { type: "regex", pattern: "a*" }],
    ["no path", { type: "path", path: "inputs" }],
    ["an unknown set", { type: "set", set: "ssn" }],
    ["an unknown member", { type: "set", set: "email", flags: "g" }],
    ["a name that forges a mark", { type: "set", set: "email", name: "x] [y" }],
    ["a pattern that is too long", { type: "regex", pattern: "a".repeat(501) }],
  ])("%s is refused, and the rules stay", async ([, rule]) => {
    const refused = await setRules([rule]);
    expect([refused.status, await refused.json()]).toEqual([
      422,
      expect.objectContaining({ detail: expect.any(String) }),
    ]);
    expect(await (await caller.fetch(PATH)).json()).toMatchObject({ rules: [{ set: "email" }, {}, {}, {}] });
    expect((await caller.fetch(`${PATH}/preview`, { body: { rules: [rule] } })).status).toBe(422);
  });

  it("that cannot be read keep traces out", async () => {
    forgetMaskers();
    const run = sentRun(NOON, { inputs: { a: MAIL } });
    await env.DB.prepare("update workspaces set settings = json_set(settings, '$.masking', json(?)) where id = ?")
      .bind('[{"type":"regex","pattern":"(","ignore_case":false}]', caller.workspaceId)
      .run();
    expect((await caller.fetch("/api/v1/runs", { body: run })).status).toBeGreaterThanOrEqual(400);
    await setRules(RULES);
    expect((await caller.fetch("/api/v1/runs", { body: run })).status).toBe(202);
  });

  it("leave other settings of the workspace alone", async () => {
    await env.DB.prepare("update workspaces set settings = json_set(settings, '$.exports', json('false')) where id = ?")
      .bind(caller.workspaceId)
      .run();
    await setRules([]);
    const text = await env.DB.prepare("select settings from workspaces where id = ?")
      .bind(caller.workspaceId)
      .first("settings");
    expect(JSON.parse(String(text))).toEqual({ exports: false, masking: [] });
  });
});

describe("a preview", () => {
  it("says what the rules would do to the newest runs, and changes nothing", async () => {
    await setRules([]);
    const runs = Array.from({ length: 120 }, (_, i) =>
      sentRun(NOON + i * 1000, { inputs: { text: i % 2 ? `${MAIL} EMP-${i}` : "nothing" } }),
    );
    await sendMultipart(
      caller,
      runs.flatMap((run) => runParts("post", run)),
    );
    const answer = await caller.fetch(`${PATH}/preview`, { body: { rules: RULES } });
    const preview = await answer.json<{ runs: number; marks: object; examples: object[] }>();
    expect(preview).toMatchObject({
      runs: 100,
      masked_runs: 50,
      marks: { "[masked:email]": { runs: 50, values: 50 }, "[masked:iban]": { runs: 0, values: 0 } },
    });
    expect(preview.examples).toHaveLength(20);
    expect(preview.examples[0]).toEqual({
      run_id: runs[119]?.id,
      path: "$.inputs.text",
      before: `${MAIL} EMP-119`,
      after: "[masked:email] [masked:employee]",
    });
    expect(await readEverything()).toContain(MAIL);
    const other = await newCaller();
    const session_id = await projectId(caller);
    const theirs = await other.fetch(`${PATH}/preview`, { body: { rules: RULES, session_id } });
    expect(await theirs.text()).not.toContain(MAIL);
  });

  it("needs a key that may read", async () => {
    const made = await caller.fetch("/api/v1/api-keys", { body: { scopes: ["admin"] } });
    const { key } = await made.json<{ key: string }>();
    const headers = { "x-api-key": key };
    expect((await send(`${PATH}/preview`, { body: { rules: RULES }, headers })).status).toBe(403);
    expect((await send(PATH, { headers })).status).toBe(200);
  });
});

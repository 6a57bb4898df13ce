import { createExecutionContext, env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { app } from "../../support/app.ts";
import { type Caller, newCaller, send } from "../../support/caller.ts";
import { DAY, NOON, projectId, runParts, sendMultipart, type Sent, sentRun } from "../../support/traces.ts";

interface Page {
  runs: { id: string; name: string }[];
  cursors: { next: string | null };
}

const DAY_MICROS = 86_400_000_000;

async function query(caller: Caller, body: object): Promise<Response> {
  return caller.fetch("/api/v1/runs/query", { body });
}

async function names(caller: Caller, body: object): Promise<string[]> {
  return (await (await query(caller, body)).json<Page>()).runs.map(({ name }) => name);
}

let caller: Caller;
let other: Caller;
let session: string;
let root: Sent;
let feedbackId: string;

beforeAll(async () => {
  [caller, other] = [await newCaller(), await newCaller()];
  root = sentRun(NOON, { name: "root", end_time: NOON / 1000 + 1000 });
  const child = sentRun(NOON + 1_000, { name: "child", run_type: "llm" }, root);
  const tomorrow = sentRun(NOON + DAY_MICROS, { name: "late child" }, root);
  const before = sentRun(NOON - 3 * DAY_MICROS, { name: "earlier" });
  await sendMultipart(
    caller,
    [root, child, tomorrow, before].flatMap((run) => runParts("post", run)),
  );
  session = await projectId(caller);
  const given = await caller.fetch("/feedback", { body: { run_id: root.id, key: "mood", value: "good" } });
  feedbackId = (await given.json<{ id: string }>()).id;
});

describe("a query", () => {
  it("names one project with session_id, as the Python SDK does for the children of a run", async () => {
    const below = { is_root: false, trace: root.id };
    expect(await names(caller, { ...below, session_id: session })).toEqual(["late child", "child"]);
    const elsewhere = crypto.randomUUID();
    expect(await names(caller, { ...below, session_id: elsewhere })).toEqual([]);
    expect((await query(caller, { session: [session], session_id: elsewhere })).status).toBe(422);
    const stats = await caller.fetch("/runs/stats", { body: { session_id: elsewhere } });
    expect(await stats.json()).toMatchObject({ run_count: 0 });
  });

  it("goes over days, in either order", async () => {
    expect(await names(caller, { session: [session] })).toEqual(["late child", "child", "root", "earlier"]);
    expect(await names(caller, { session: [session], order: "asc" })).toEqual([
      "earlier",
      "root",
      "child",
      "late child",
    ]);
    const window = { start_time: "2026-11-20T00:00:00Z", end_time: "2026-11-21T00:00:00Z" };
    expect(await names(caller, { session: [session], ...window })).toEqual(["child", "root"]);
    expect(await names(caller, { trace: root.id, order: "asc" })).toEqual(["root", "child", "late child"]);
    expect(await names(caller, { parent_run: root.id, order: "asc" })).toEqual(["child", "late child"]);
  });

  it("gives the fields that are selected, and those that every run has", async () => {
    const response = await query(caller, { session: [session], select: ["tags"], filter: 'eq(name, "root")' });
    const [run] = (await response.json<{ runs: object[] }>()).runs;
    const names = `app_path completion_cost_details completion_token_details dotted_order id name prompt_cost_details
      prompt_token_details run_type s3_urls session_id status tags trace_id`;
    expect(Object.keys(run ?? {}).sort()).toEqual(names.split(/\s+/));
  });

  it.each([
    ["no scope", {}, 400, "at least one of 'session'"],
    [
      "a limit over 100",
      { session: [crypto.randomUUID()], limit: 101 },
      400,
      "limit exceeds maximum allowed value of 100",
    ],
    ["a filter with a fault", { session: [crypto.randomUUID()], filter: 'eq(name "x")' }, 400, "at position 8"],
    ["a cursor of another kind", { session: [crypto.randomUUID()], cursor: "abc" }, 422, "cursor"],
    ["an id that is none", { session: ["mine"] }, 422, "UUID"],
    ["a time that is none", { session: [crypto.randomUUID()], start_time: "noon" }, 422, "expected a time"],
  ])("with %s is refused", async (_name, body, status, detail) => {
    const response = await query(caller, body);
    expect(response.status).toBe(status);
    expect((await response.json<{ detail: string }>()).detail).toContain(detail);
  });
});

describe("the tree of a trace", () => {
  interface Tree {
    items: { id: string; name: string; error?: null; parent_run_ids: string[] }[];
  }
  const FIELDS =
    "name,run_type,status,start_time,end_time,latency_seconds,parent_run_ids,project_id,trace_id,dotted_order,first_token_time,total_tokens,total_cost";
  const tree = async (from: Caller, id: string, selects: string, more = "") =>
    (await (await from.fetch(`/api/v2/traces/${id}/runs?selects=${selects}${more}`)).json<Tree>()).items;

  it("has each run after its parent, over days, and the fields that a whole run has", async () => {
    const own = await newCaller();
    const top = sentRun(NOON, { name: "top", end_time: NOON / 1000 + 1000 });
    const second = sentRun(NOON + 2_000, { name: "second" }, top);
    const first = sentRun(
      NOON + 1_000,
      {
        name: "first",
        run_type: "llm",
        end_time: NOON / 1000 + 900,
        outputs: { usage_metadata: { input_tokens: 3, output_tokens: 2, total_tokens: 5, total_cost: 0.25 } },
        events: [{ name: "new_token", time: new Date(NOON / 1000 + 400).toISOString() }],
      },
      top,
    );
    const below = sentRun(NOON + DAY_MICROS, { name: "below first" }, first);
    await sendMultipart(
      own,
      [top, second, first, below, sentRun(NOON, { name: "elsewhere" })].flatMap((run) => runParts("post", run)),
    );
    const project = `&project_id=${await projectId(own)}`;
    for (const where of ["", project]) {
      const found = await tree(own, top.id, FIELDS, where);
      expect(found.map(({ name }) => name)).toEqual(["top", "first", "below first", "second"]);
      expect(found[2]?.parent_run_ids).toEqual([top.id, first.id]);
      const tokenTime = new Date(NOON / 1000 + 400).toISOString().replace("Z", "000Z");
      expect(found[1]).toMatchObject({ first_token_time: tokenTime, total_tokens: 5, total_cost: 0.25 });
      // A field that the tree does not have makes the server read the whole runs.
      const whole = await tree(own, top.id, `${FIELDS},error`, where);
      expect(whole).toEqual(found.map((run) => ({ ...run, error: null })));
    }
    for (const selects of [FIELDS, `${FIELDS},error`]) {
      const first = await tree(own, top.id, selects, "&page_size=3");
      expect(first.map(({ name }) => name)).toEqual(["top", "first", "below first"]);
    }
    const refused = await own.fetch(`/api/v2/traces/${top.id}/runs?page_size=0`);
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining("page_size")]);
    expect(await tree(own, top.id, "")).toEqual([top, first, below, second].map(({ id }) => ({ id })));
    expect(await tree(other, top.id, FIELDS)).toEqual([]);
    expect(await tree(other, top.id, FIELDS, project)).toEqual([]);
  });
});

describe("another workspace's ids", () => {
  it("are as good as unknown ones", async () => {
    const paths = (run: string, project: string, feedback: string) => [
      `GET /runs/${run}`,
      `GET /api/v2/runs/${run}?project_id=${project}`,
      `GET /sessions/${project}`,
      `PATCH /sessions/${project}`,
      `DELETE /sessions/${project}`,
      `GET /feedback/${feedback}`,
      `PATCH /feedback/${feedback}`,
      `DELETE /feedback/${feedback}`,
      `GET /feedback?run=${run}`,
    ];
    const answers = (list: string[]) =>
      Promise.all(
        list.map(async (line) => {
          const [method, path = ""] = line.split(" ");
          const response = await other.fetch(path, { method, ...(method === "PATCH" ? { body: {} } : {}) });
          return [response.status, await response.text()];
        }),
      );
    const createUnknownId = () => crypto.randomUUID();
    const foreign = await answers(paths(root.id, session, feedbackId));
    expect(foreign).toEqual(await answers(paths(createUnknownId(), createUnknownId(), createUnknownId())));
    expect(await names(other, { session: [session] })).toEqual([]);
    expect(await names(other, { id: [root.id] })).toEqual([]);
    expect(await names(other, { trace: root.id })).toEqual([]);
    const feedback = await other.fetch("/feedback", { body: { run_id: root.id, key: "mood" } });
    expect(feedback.status).toBe(404);
    expect(await names(caller, { session: [session] })).toHaveLength(4);
  });
});

describe("a partition", () => {
  it("reports its content to D1, and is deleted at the end of its retention", async () => {
    const mine = await newCaller();
    await sendMultipart(mine, runParts("post", sentRun(NOON)));
    await sendMultipart(mine, runParts("post", sentRun(NOON + 1)));
    const project = await projectId(mine);
    const stub = env.TRACE_PARTITION.get(env.TRACE_PARTITION.idFromName(`${mine.workspaceId}/${project}/${DAY}`));
    await runDurableObjectAlarm(stub);
    const readCount = () =>
      env.DB.prepare("SELECT rows FROM trace_partitions WHERE project_id = ?").bind(project).first<{ rows: number }>();
    expect(await readCount()).toEqual({ rows: 2 });
    await runInDurableObject(stub, (_instance, state) => {
      const long = Date.now() - 500 * 86_400_000;
      state.storage.sql.exec("UPDATE meta SET value = ? WHERE name = 'written'", JSON.stringify(long));
      const day = "2020-01-01";
      const identity = { workspaceId: mine.workspaceId, projectId: project, day, shard: 0, traceTier: "longlived" };
      state.storage.sql.exec("UPDATE meta SET value = ? WHERE name = 'identity'", JSON.stringify(identity));
    });
    await runDurableObjectAlarm(stub);
    const left = await runInDurableObject(stub, (_instance, { storage }) =>
      storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'runs'").toArray(),
    );
    expect(left).toEqual([]);
  });
});

describe("feedback", () => {
  it("is listed by when it was given", async () => {
    const own = await newCaller();
    const run = sentRun(NOON);
    await sendMultipart(own, runParts("post", run));
    for (const [key, created_at] of [
      ["early", "2026-11-20T16:00:00Z"],
      ["late", "2026-11-20T18:00:00Z"],
    ]) {
      const given = await own.fetch("/feedback/eager", { body: { run_id: run.id, key, created_at } });
      expect(given.status).toBe(200);
    }
    const keys = async (query: string) => {
      const listed = await (await own.fetch(`/feedback?run=${run.id}${query}`)).json<{ key: string }[]>();
      return listed.map(({ key }) => key);
    };
    expect(await keys("")).toEqual(["late", "early"]);
    expect(await keys("&min_created_at=2026-11-20T17:00:00")).toEqual(["late"]);
    expect(await keys("&max_created_at=2026-11-20T16:00:00%2B00:00")).toEqual(["early"]);
    expect(await keys("&min_created_at=2026-11-20T16:00:01Z&max_created_at=2026-11-20T17:59:59Z")).toEqual([]);
    expect((await own.fetch("/feedback?min_created_at=yesterday")).status).toBe(422);
  });

  it("is listed by who gave it", async () => {
    const own = await newCaller();
    const run = sentRun(NOON);
    await sendMultipart(own, runParts("post", run));
    for (const user_id of ["ann", "bob", undefined]) {
      const feedback_source = { type: "app", user_id };
      await own.fetch("/feedback", { body: { run_id: run.id, key: user_id ?? "unknown", feedback_source } });
    }
    const keys = async (query: string) => {
      const listed = await (await own.fetch(`/feedback?${query}`)).json<{ key: string }[]>();
      return listed.map(({ key }) => key).sort();
    };
    expect(await keys("source=app")).toEqual(["ann", "bob", "unknown"]);
    expect(await keys("user=ann")).toEqual(["ann"]);
    expect(await keys("user=ann&user=bob&user=eve")).toEqual(["ann", "bob"]);
    expect(await keys("user=eve")).toEqual([]);
  });

  it("is found among as many runs as are named", async () => {
    const others = Array.from({ length: 90 }, () => `run=${crypto.randomUUID()}`).join("&");
    const listed = await caller.fetch(`/feedback?${others}&run=${root.id}`);
    expect(await listed.json()).toMatchObject([{ id: feedbackId }]);
  });
});

it("an attachment's link leads to the public address, where there is one", async () => {
  const own = await newCaller();
  const run = sentRun(NOON);
  const file = { name: `attachment.${run.id}.note`, type: "text/plain", data: "hello" };
  await sendMultipart(own, [...runParts("post", run), file]);
  const bindings = { ...env, PUBLIC_URL: "https://public.example/" } as Env;
  const request = new Request(`http://inner:8787/runs/${run.id}`, { headers: { "x-api-key": own.key } });
  const answer = await app.fetch(request, bindings, createExecutionContext());
  const { s3_urls } = await answer.json<{ s3_urls: Record<string, { presigned_url: string }> }>();
  const link = s3_urls["attachment.note"]?.presigned_url ?? "";
  expect(link).toMatch(/^https:\/\/public\.example\/api\/v1\/trace-attachments\//);
  expect(await (await send(new URL(link).pathname)).text()).toBe("hello");
});

it("projects are found among as many ids and datasets as are named", async () => {
  const ids = (name: string) => Array.from({ length: 90 }, () => `${name}=${crypto.randomUUID()}`).join("&");
  const found = await caller.fetch(`/sessions?${ids("id")}&${ids("reference_dataset")}`);
  expect([found.status, await found.json()]).toEqual([200, []]);
});

it("a run that ends in the millisecond of its beginning took no less than nothing", async () => {
  const own = await newCaller();
  // As the SDK sends it: the beginning with its order in microseconds, the end in milliseconds.
  const run = sentRun(NOON + 2, { end_time: NOON / 1000, first_token_time: NOON / 1000 });
  await sendMultipart(own, runParts("post", run));
  const project = await projectId(own);
  const stats = await own.fetch("/runs/stats", { body: { session: [project] } });
  expect(await stats.json()).toMatchObject({ latency_p50: 0, first_token_p50: 0 });
  expect(await names(own, { session: [project], filter: "lt(latency, 0)" })).toEqual([]);
  expect(await names(own, { session: [project], filter: "eq(latency, 0)" })).toEqual(["step"]);
  const groups = await own.fetch("/api/v2/runs/query", {
    body: { project_ids: [project], selects: ["LATENCY_SECONDS"], min_start_time: "2026-11-20T00:00:00Z" },
  });
  expect(await groups.json()).toMatchObject({ items: [{ latency_seconds: 0 }] });
});

/** A member that is not known never widens what a request reads or deletes. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";
import { NOON, projectId, runParts, sendMultipart, sentRun } from "../support/traces.ts";

const ID = "00000000-0000-4000-8000-000000000000";

/** Bodies that choose what is read or deleted, each with no more than the route needs. */
const BODIES: [path: string, least: object][] = [
  ["/runs/query", { session: [ID] }],
  ["/runs/stats", { session: [ID] }],
  ["/runs/stats/series", {}],
  ["/runs/group", { session_id: ID }],
  ["/runs/delete", { session_id: ID, trace_ids: [ID] }],
  ["/api/v2/runs/query", { project_ids: [ID] }],
  ["/api/v2/traces/query", { project_id: ID }],
  ["/api/v2/threads/query", { project_id: ID }],
  ["/api/v2/threads/stats", { project_id: ID, select: ["TRACE_COUNT"] }],
  ["/v1/platform/datasets/examples/delete", { example_ids: [ID] }],
  ["/api/v1/bulk-exports", {}],
  ["/threads/search", {}],
  ["/threads/count", {}],
  ["/threads/prune", { thread_ids: [ID] }],
  [`/threads/${ID}/history`, {}],
  ["/runs/cancel", { status: "all" }],
  ["/assistants/search", {}],
  ["/assistants/count", {}],
  ["/runs/crons/search", {}],
  ["/runs/crons/count", {}],
  ["/store/items/search", { namespace_prefix: [] }],
  ["/store/namespaces", {}],
];
/** The same of a query string. */
const QUERIES: [method: string, path: string][] = [
  ["GET", "/sessions?"],
  ["DELETE", `/sessions?session_ids=${ID}`],
  ["GET", "/feedback?"],
  ["GET", "/feedback-configs?"],
  ["GET", "/datasets?"],
  ["GET", `/examples?dataset=${ID}`],
  ["GET", `/examples/count?dataset=${ID}`],
  ["DELETE", `/examples?example_ids=${ID}`],
  ["GET", `/api/v2/traces/${ID}/runs?project_id=${ID}`],
  ["GET", `/api/v2/threads/t/traces?project_id=${ID}`],
  ["GET", `/api/v2/threads/t/stats?session_id=${ID}&selects=TURNS`],
  ["DELETE", `/api/v2/threads/t?project_id=${ID}`],
];

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

it.each(BODIES)("%s names it", async (path, least) => {
  await expectNamed(await caller.fetch(path, { body: { ...least, metdata: { user: "u" } } }), "metdata");
});

it.each(QUERIES)("%s %s names it", async (method, path) => {
  await expectNamed(await caller.fetch(`${path}&nmae=x`, { method }), "nmae");
});

async function expectNamed(response: Response, path: string): Promise<void> {
  const { errors } = await response.json<{ errors?: { path: string }[] }>();
  expect([response.status, errors?.find((fault) => fault.path === path)]).toEqual([
    422,
    { path, message: expect.stringMatching(/^is not known here/) },
  ]);
}

it("says which one is meant", async () => {
  const response = await caller.fetch("/runs/query", { body: { session: [ID], filtr: "eq(name, 'a')" } });
  expect(await response.json()).toMatchObject({ detail: "Invalid body.filtr: is not known here; use filter" });
});

describe("a condition that is not served", () => {
  it.each([
    ["/api/v2/runs/query", { project_ids: [ID], ai_search: "angry users" }],
    ["/api/v2/runs/query", { project_ids: [ID], ai_query: "angry users" }],
    ["/api/v2/runs/query", { project_ids: [ID], min_feedback_modified_at: "2026-01-01T00:00:00Z" }],
    ["/api/v2/traces/query", { project_id: ID, ai_search: "angry users" }],
    ["/api/v2/threads/query", { project_id: ID, ai_search: "angry users" }],
    ["/api/v2/threads/query", { project_id: ID, thread_filter: "gt(turns, 3)" }],
    ["/runs/query", { session: [ID], ai_query: "angry users" }],
    ["/runs/delete", { session_id: ID, metadata: { user: "u" } }],
  ])("%s %j is a 501", async (path, body) => {
    const response = await caller.fetch(path, { body });
    expect([response.status, response.headers.get("content-type")]).toEqual([501, "application/problem+json"]);
  });

  it("can be left out with null, as the SDKs do", async () => {
    const response = await caller.fetch("/runs/query", {
      body: { session: [ID], ai_query: null, data_source_type: null },
    });
    expect(response.status).toBe(200);
  });
});

describe("a condition that the clients send", () => {
  let session: string;
  let trace: string;
  const THREAD = { metadata: { thread_id: "t" } };
  beforeAll(async () => {
    const root = sentRun(NOON, { name: "root", extra: THREAD, tags: ["first"] });
    const child = sentRun(NOON + 1_000, { name: "child", run_type: "llm", extra: THREAD }, root);
    const second = sentRun(NOON + 9_000, { name: "second", extra: THREAD });
    await sendMultipart(
      caller,
      [root, child, second].flatMap((run) => runParts("post", run)),
    );
    session = await projectId(caller);
    trace = root.id;
  });
  const names = async (path: string) => {
    const response = await caller.fetch(path);
    return (await response.json<{ items: { name: string }[] }>()).items.map(({ name }) => name);
  };

  it("execution_order 1 chooses the roots", async () => {
    const response = await caller.fetch("/runs/query", { body: { session: [session], execution_order: 1 } });
    const { runs } = await response.json<{ runs: { name: string }[] }>();
    expect(runs.map(({ name }) => name)).toEqual(["second", "root"]);
  });

  it("narrows the runs of a trace, and the traces of a thread", async () => {
    const runs = `/api/v2/traces/${trace}/runs?project_id=${session}&selects=NAME`;
    expect(await names(runs)).toEqual(["root", "child"]);
    expect(await names(`${runs}&filter=eq(run_type,"llm")`)).toEqual(["child"]);
    const until = new Date(NOON / 1000).toISOString();
    expect(await names(`${runs}&min_start_time=2026-01-01T00:00:00Z&max_start_time=${until}`)).toEqual(["root"]);
    const turns = `/api/v2/threads/t/traces?project_id=${session}&selects=NAME`;
    expect(await names(turns)).toEqual(["root", "second"]);
    expect(await names(`${turns}&tree_filter=eq(run_type,"llm")`)).toEqual(["root"]);
    expect(await names(`${turns}&trace_filter=has(tags,"first")`)).toEqual(["root"]);
  });

  it("data_type chooses datasets", async () => {
    for (const data_type of ["kv", "chat"]) await caller.fetch("/datasets", { body: { name: data_type, data_type } });
    const response = await caller.fetch("/datasets?data_type=chat");
    expect(await response.json()).toMatchObject([{ name: "chat" }]);
  });
});

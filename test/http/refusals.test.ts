import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, newCaller, send } from "../support/caller.ts";

let caller: Caller;
let other: Caller;
let assistant: string;
let cron: string;
beforeAll(async () => {
  [caller, other] = [await newCaller(), await newCaller()];
  const made = await other.fetch("/assistants", { body: { graph_id: "echo" } });
  assistant = (await made.json<{ assistant_id: string }>()).assistant_id;
  const scheduled = await other.fetch("/runs/crons", { body: { assistant_id: "echo", schedule: "0 0 1 1 *" } });
  cron = (await scheduled.json<{ cron_id: string }>()).cron_id;
});

type Route = [method: string, path: string, body?: unknown];

const ROUTES: Route[] = [
  ["POST", "/assistants", { graph_id: "echo" }],
  ["POST", "/assistants/search", {}],
  ["POST", "/assistants/count", {}],
  ["GET", "/assistants/ASSISTANT"],
  ["PATCH", "/assistants/ASSISTANT", {}],
  ["DELETE", "/assistants/ASSISTANT"],
  ["DELETE", "/assistants/ASSISTANT?delete_threads=true"],
  ["GET", "/assistants/ASSISTANT/graph"],
  ["GET", "/assistants/ASSISTANT/schemas"],
  ["GET", "/assistants/ASSISTANT/subgraphs"],
  ["GET", "/assistants/ASSISTANT/subgraphs/x"],
  ["POST", "/assistants/ASSISTANT/versions", {}],
  ["POST", "/assistants/ASSISTANT/latest", { version: 1 }],
  ["POST", "/runs/crons", { assistant_id: "ASSISTANT", schedule: "* * * * *" }],
  ["POST", "/runs/crons/search", {}],
  ["POST", "/runs/crons/count", {}],
  ["GET", "/runs/crons/CRON"],
  ["PATCH", "/runs/crons/CRON", { enabled: false }],
  ["DELETE", "/runs/crons/CRON"],
  ["PUT", "/store/items", { namespace: ["n"], key: "k", value: {} }],
  ["GET", "/store/items?key=k"],
  ["DELETE", "/store/items", { key: "k" }],
  ["POST", "/store/items/search", { namespace_prefix: [] }],
  ["POST", "/store/namespaces", {}],
  ["POST", "/mcp", { jsonrpc: "2.0", id: 1, method: "tools/list" }],
  ["POST", "/mcp/traces", { jsonrpc: "2.0", id: 1, method: "tools/list" }],
  ["GET", "/metrics"],
];

const fillIds = (text: string, ids: { assistant: string; cron: string }) =>
  text.replaceAll("ASSISTANT", ids.assistant).replaceAll("CRON", ids.cron);
const readAnswer = async (from: Caller, [method, path, body]: Route, ids: { assistant: string; cron: string }) => {
  const text = body === undefined ? undefined : fillIds(JSON.stringify(body), ids);
  const response = await from.fetch(fillIds(path, ids), { method, body: text });
  const answer = await response.text();
  return { status: response.status, answer: answer.replaceAll(ids.assistant, "ID").replaceAll(ids.cron, "ID") };
};

describe("a caller who may not", () => {
  it.each(ROUTES)("is refused without a key and with a wrong one: %s %s", async (method, path, body) => {
    for (const headers of [{}, { "x-api-key": "weir_wrong" }, { authorization: "Bearer weir_at_wrong" }] as Record<
      string,
      string
    >[]) {
      const response = await send(path, { method, body, headers });
      expect(response.status).toBe(401);
      expect(await response.json()).toMatchObject({ status: 401, detail: expect.any(String) });
    }
  });

  const named = ROUTES.filter(([, path, body]) => /ASSISTANT|CRON/.test(path + JSON.stringify(body ?? "")));
  it.each(named)("cannot distinguish another workspace's id from an unknown one: %s %s", async (...route) => {
    const foreign = await readAnswer(caller, route, { assistant, cron });
    const unknown = await readAnswer(caller, route, { assistant: crypto.randomUUID(), cron: crypto.randomUUID() });
    expect(foreign).toEqual(unknown);
    expect(foreign.status).toBe(404);
    expect((await other.fetch(`/assistants/${assistant}`)).status).toBe(200);
    expect((await other.fetch(`/runs/crons/${cron}`)).status).toBe(200);
  });
});

const nestObjects = (levels: number): object => (levels === 0 ? {} : { d: nestObjects(levels - 1) });
const wide = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`k${n}`, n]));
const SECRET = "hunter2-do-not-repeat";

/** What is wrong, and the status that says so. */
const BAD: [method: string, path: string, body: unknown, status: number][] = [
  ["POST", "/assistants", {}, 422],
  ["POST", "/assistants", { graph_id: 5 }, 422],
  ["POST", "/assistants", { graph_id: "nowhere" }, 404],
  ["POST", "/assistants", { graph_id: "echo", assistant_id: "no-uuid" }, 422],
  ["POST", "/assistants", { graph_id: "echo", metadata: [SECRET] }, 422],
  ["POST", "/assistants", { graph_id: "echo", context: SECRET }, 422],
  ["POST", "/assistants", { graph_id: "echo", config: { recursion_limit: 0 } }, 422],
  ["POST", "/assistants", { graph_id: "echo", if_exists: "maybe" }, 422],
  ["POST", "/assistants", "{", 400],
  ["POST", "/assistants", "[]", 422],
  ["POST", "/assistants", "null", 422],
  ["POST", "/assistants", '{"graph_id":"echo","name":"\u0000"}', 400],
  ["POST", "/assistants", { graph_id: "echo", metadata: nestObjects(600) }, 422],
  ["POST", "/assistants/search", { metadata: nestObjects(600) }, 422],
  ["PUT", "/store/items", { namespace: ["a"], key: "k", value: nestObjects(600) }, 422],
  ["POST", "/threads", { metadata: nestObjects(600) }, 422],
  ["POST", "/threads/search", { values: nestObjects(600) }, 422],
  ["POST", "/threads", { ttl: 1e308 }, 422],
  [
    "POST",
    "/mcp",
    { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "echo", arguments: nestObjects(600) } },
    422,
  ],
  ["POST", "/threads", "[]", 422],
  ["POST", "/assistants/search", '[{"limit":1}]', 422],
  ["GET", `/threads/${crypto.randomUUID()}/stream?stream_mode=values`, undefined, 422],
  ["GET", `/threads/${crypto.randomUUID()}/stream?stream_modes=nothing`, undefined, 422],
  ["POST", "/assistants/search", { offset: 2 ** 63 }, 422],
  ["POST", "/assistants/echo/versions", { offset: 2 ** 63 }, 422],
  ["POST", "/threads/search", { offset: 2 ** 63 }, 422],
  ["POST", "/runs/crons/search", { offset: 2 ** 63 }, 422],
  ["POST", "/store/items/search", { namespace_prefix: [], offset: 2 ** 63 }, 422],
  ["POST", "/assistants/search", { limit: 0 }, 422],
  ["POST", "/assistants/search", { limit: 1001 }, 422],
  ["POST", "/assistants/search", { offset: -1 }, 422],
  ["POST", "/assistants/search", { sort_by: "password" }, 422],
  ["POST", "/assistants/search", { select: ["workspace_id"] }, 422],
  ["POST", "/assistants/search", { metadata: wide }, 422],
  ["POST", "/assistants/search", { metadata: nestObjects(12) }, 422],
  ["PATCH", "/assistants/echo", { graph_id: "nowhere" }, 404],
  ["POST", "/assistants/echo/latest", {}, 422],
  ["POST", "/assistants/echo/latest", { version: 1.5 }, 422],
  ["POST", "/assistants/echo/latest", { version: 99 }, 404],
  ["GET", "/assistants/echo/graph?xray=0", undefined, 422],
  ["GET", "/assistants/echo/graph?xray=-1", undefined, 422],
  ["GET", "/assistants/echo/subgraphs?recurse=perhaps", undefined, 422],
  ["GET", `/assistants/${"x".repeat(300)}`, undefined, 422],
  ["GET", "/assistants/%00", undefined, 404],
  ["PUT", "/store/items", { namespace: ["a\u001fb"], key: "k", value: {} }, 422],
  ["PUT", "/store/items", { namespace: [], key: "k", value: {} }, 422],
  ["PUT", "/store/items", { namespace: [""], key: "k", value: {} }, 422],
  ["PUT", "/store/items", { namespace: ["a"], value: {} }, 422],
  ["PUT", "/store/items", { namespace: ["a"], key: "k", value: SECRET }, 422],
  ["PUT", "/store/items", { namespace: ["a"], key: "k", value: {}, ttl: 0 }, 422],
  ["PUT", "/store/items", { namespace: ["a"], key: "k", value: {}, index: true }, 422],
  ["PUT", "/store/items", { namespace: ["a"], key: "k", value: { text: "x".repeat(1_100_000) } }, 422],
  ["GET", "/store/items?namespace=a..b&key=k", undefined, 422],
  ["GET", "/store/items?namespace=a", undefined, 422],
  ["DELETE", "/store/items", { namespace: ["a"] }, 422],
  ["POST", "/store/items/search", {}, 422],
  ["POST", "/store/items/search", { namespace_prefix: [], filter: { a: { $regex: "x" } } }, 422],
  ["POST", "/store/items/search", { namespace_prefix: [], filter: { a: { $gt: null } } }, 422],
  ["POST", "/store/items/search", { namespace_prefix: [], filter: { a: { $in: 5 } } }, 422],
  ["POST", "/store/namespaces", { max_depth: 0 }, 422],
  ["POST", "/runs/crons", { assistant_id: "echo", schedule: "* * * * *", end_time: "2020-01-01T00:00:00Z" }, 422],
  ["GET", "/runs/crons/no-uuid", undefined, 422],
  ["POST", "/runs/crons/search", { sort_by: "secret" }, 422],
  ["GET", "/metrics?format=xml", undefined, 422],
];

describe("bad input", () => {
  it.each(BAD)("%s %s %j", async (method, path, body, status) => {
    const response = await caller.fetch(path, { method, body });
    const text = await response.text();
    expect(response.status).toBe(status);
    expect(text).not.toContain(SECRET);
    expect(JSON.parse(text)).toMatchObject({ status, detail: expect.stringMatching(/.{10}/) });
  });

  it.each([
    ["POST", "/assistants", { graph_id: "echo", metadata: [] }, "Invalid body.metadata: expected a JSON object"],
    ["POST", "/assistants", { graph_id: 5 }, "Invalid body.graph_id: expected string"],
    ["GET", "/assistants/echo/subgraphs?recurse=perhaps", undefined, "Invalid query.recurse: expected true or false"],
  ])("has a readable message: %s %s %j", async (method, path, body, detail) => {
    const refused = await caller.fetch(path, { method, body });
    expect(await refused.json()).toMatchObject({ status: 422, detail });
  });

  it("names the rule that it breaks", async () => {
    const readDetail = async (path: string, body: unknown) =>
      (await (await caller.fetch(path, { body })).json<{ detail: string }>()).detail;
    expect(await readDetail("/assistants", {})).toBe("Invalid body.graph_id: is required");
    expect(await readDetail("/api/v1/api-keys", { nmae: "x" })).toBe("Invalid body.nmae: is not known here");
    const abyss = `{"graph_id":"echo","metadata":${'{"d":'.repeat(100_000)}1${"}".repeat(100_001)}`;
    expect(await readDetail("/assistants", abyss)).toBe("Invalid body: nests deeper than 500 levels.");
  });

  it("queries that mean something to SQL or to its full-text search do no harm", async () => {
    for (const query of ['"', "'", "a OR", "NEAR(a b)", "* AND", "workspace_id : x", "\u0000", "%", "-", "水"]) {
      const found = await caller.fetch("/store/items/search", { body: { namespace_prefix: [], query } });
      expect(found.status).toBe(200);
    }
  });
});

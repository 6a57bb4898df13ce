/** Rows of D1 hold 2 MB: each part of a row has a limit in bytes, and refusing it changes nothing. */
import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { storeFor } from "../../src/agents/memory/langgraph.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { itThorough } from "../support/thorough-test.ts";

const ROW = 2_000_000;
const KIB = 1024;
/** Texts of this many bytes. */
const ascii = (bytes: number) => "x".repeat(bytes);
const makeWide = (bytes: number) => "文".repeat(Math.floor(bytes / 3));

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

/** The bytes of the longest row of every table. */
async function longestRows(): Promise<[table: string, bytes: number][]> {
  const tables = await env.DB.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' AND name NOT LIKE 'store\\_text\\_%' ESCAPE '\\' AND name NOT LIKE '\\_cf%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'",
  ).all<{ name: string }>();
  return Promise.all(
    tables.results.map(async ({ name }) => {
      const columns = await env.DB.prepare(`PRAGMA table_info(${name})`).all<{ name: string }>();
      const size = columns.results.map((column) => `coalesce(length(CAST("${column.name}" AS BLOB)), 0)`).join(" + ");
      return [name, (await env.DB.prepare(`SELECT max(${size}) AS n FROM ${name}`).first<number>("n")) ?? 0];
    }),
  );
}

async function call(method: string, path: string, body: unknown, headers = {}) {
  const response = await caller.fetch(path, { method, body, headers });
  const text = await response.text();
  return { status: response.status, body: text === "" ? undefined : (JSON.parse(text) as Record<string, unknown>) };
}

async function expectRefused(method: string, path: string, body: unknown): Promise<void> {
  const refused = await call(method, path, body);
  expect([path, refused.status]).toEqual([path, 422]);
  expect(refused.body?.["detail"]).toMatch(/at most \d+ (bytes|characters)/);
}

const count = async (table: string) =>
  env.DB.prepare(`SELECT count(*) AS n FROM ${table} WHERE workspace_id = ?`)
    .bind(caller.workspaceId)
    .first<number>("n");

describe.each([
  ["ASCII", ascii],
  ["three-byte characters", makeWide],
])("texts of %s", (_name, text) => {
  it("of assistants", async () => {
    const before = (await call("POST", "/assistants/count", {})).body;
    const create = (more: object) => ({ graph_id: "echo", ...more });
    await expectRefused("POST", "/assistants", create({ config: { configurable: { a: text(1100 * KIB) } } }));
    await expectRefused(
      "POST",
      "/assistants",
      create({ context: { a: text(600 * KIB) }, config: { b: text(500 * KIB) } }),
    );
    await expectRefused("POST", "/assistants", create({ metadata: { a: text(300 * KIB) } }));
    expect((await call("POST", "/assistants/count", {})).body).toEqual(before);
    const most = create({
      config: { a: text(500 * KIB) },
      context: { a: text(500 * KIB) },
      metadata: { a: text(200 * KIB) },
    });
    const made = await call("POST", "/assistants", { ...most, description: text(20_000).slice(0, 10_000) });
    expect(made.status).toBe(200);
    const path = `/assistants/${String(made.body?.["assistant_id"])}`;
    await expectRefused("PATCH", path, { metadata: { b: text(100 * KIB) } });
    expect((await call("PATCH", path, { metadata: { a: "short" } })).body).toMatchObject({ version: 2 });
  });

  it("of crons", async () => {
    const before = await count("crons");
    const create = (more: object) => ({ assistant_id: "echo", schedule: "0 0 1 1 *", ...more });
    await expectRefused("POST", "/runs/crons", create({ input: { a: text(1100 * KIB) } }));
    await expectRefused(
      "POST",
      "/runs/crons",
      create({ input: { a: text(600 * KIB) }, context: { b: text(500 * KIB) } }),
    );
    await expectRefused("POST", "/runs/crons", create({ metadata: { a: text(300 * KIB) } }));
    expect(await count("crons")).toBe(before);
    const made = await call(
      "POST",
      "/runs/crons",
      create({ input: { a: text(1000 * KIB) }, metadata: { a: text(200 * KIB) } }),
    );
    expect(made.status).toBe(200);
    const path = `/runs/crons/${String(made.body?.["cron_id"])}`;
    await expectRefused("PATCH", path, { metadata: { b: text(100 * KIB) } });
    await expectRefused("PATCH", path, { context: { b: text(100 * KIB) } });
    expect((await call("PATCH", path, { enabled: false, input: {} })).status).toBe(200);
  });

  it("of projects and datasets", async () => {
    const name = crypto.randomUUID();
    await expectRefused("POST", "/sessions", { name, extra: { a: text(300 * KIB) } });
    await expectRefused("POST", "/sessions", { name, extra: { a: text(200 * KIB) }, metadata: { b: text(100 * KIB) } });
    await expectRefused("POST", "/datasets", { name, metadata: { a: text(300 * KIB) } });
    await expectRefused("POST", "/datasets", { name, description: text(40_000).slice(0, 11_000) + "x".repeat(11_000) });
    const made = await call("POST", "/sessions", { name, extra: { a: text(200 * KIB) } });
    expect(made.status).toBe(200);
    await expectRefused("POST", "/sessions?upsert=true", { name, extra: { b: text(100 * KIB) } });
    await expectRefused("PATCH", `/sessions/${String(made.body?.["id"])}`, { extra: { b: text(100 * KIB) } });
    expect((await call("POST", "/datasets", { name, metadata: { a: text(200 * KIB) } })).status).toBe(200);
  });

  it("of feedback", async () => {
    const project = await call("POST", "/sessions", { name: crypto.randomUUID() });
    const create = { session_id: project.body?.["id"], key: "k" };
    const before = await count("feedback_places");
    await expectRefused("POST", "/feedback", { ...create, correction: { a: text(300 * KIB) } });
    await expectRefused("POST", "/feedback", {
      ...create,
      value: { a: text(100 * KIB) },
      extra: { a: text(200 * KIB) },
    });
    expect(await count("feedback_places")).toBe(before);
    const made = await call("POST", "/feedback", { ...create, value: { a: text(200 * KIB) } });
    expect(made.status).toBe(200);
    await expectRefused("PATCH", `/feedback/${String(made.body?.["id"])}`, { correction: { a: text(100 * KIB) } });
    expect((await call("GET", `/feedback?session=${String(project.body?.["id"])}`, undefined)).status).toBe(200);
  });

  it("of items of the Store", async () => {
    const put = (key: string, more: object) => ({ namespace: ["rows", _name], key, ...more });
    await expectRefused("PUT", "/store/items", put("a", { value: { a: text(1100 * KIB) } }));
    const value = { a: text(500 * KIB), b: text(500 * KIB) };
    expect((await call("PUT", "/store/items", put("a", { value }))).status).toBe(204);
    // The text that is searched names the value as often as the caller likes.
    expect(
      (await call("PUT", "/store/items", put("b", { value, index: Array.from({ length: 50 }, () => "$") }))).status,
    ).toBe(204);
    const read = await call("GET", `/store/items?namespace=rows.${encodeURIComponent(_name)}&key=b`, undefined);
    expect(read.body?.["value"]).toEqual(value);
    const store = storeFor(env, caller.workspaceId);
    await expect(store.put(["rows"], "graph", { a: text(1100 * KIB) })).rejects.toThrow(/at most \d+ bytes/);
    expect(await store.get(["rows"], "graph")).toBeNull();
  });
});

it("an answer is kept for its Idempotency-Key when it has at most a million bytes", async () => {
  const own = await newCaller();
  for (let i = 0; i < 3; i++) {
    const config = { a: makeWide(900 * KIB) };
    expect((await own.fetch("/assistants", { body: { graph_id: "echo", name: "wide", config } })).status).toBe(200);
  }
  const search = (limit: number, key: string) =>
    own.fetch("/assistants/search", { body: { name: "wide", limit }, headers: { "idempotency-key": key } });
  const listKept = () =>
    env.DB.prepare("SELECT key FROM idempotency_keys WHERE workspace_id = ? AND status = 200")
      .bind(own.workspaceId)
      .all();
  for (const [limit, key] of [
    [1, "short"],
    [3, "long"],
  ] as const) {
    const [first, again] = [await search(limit, key), await search(limit, key)];
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(await again.json()).toHaveLength(limit);
    expect(again.headers.get("idempotency-replayed")).toBe(limit === 1 ? "true" : null);
  }
  expect((await listKept()).results).toEqual([{ key: expect.stringContaining("short") }]);
});

itThorough("lists that would be larger than an isolate can hold are refused", async () => {
  const own = await newCaller();
  const value = { a: makeWide(900 * KIB), name: "whale" };
  for (let i = 0; i < 20; i++) {
    const made = await Promise.all([
      own.fetch("/assistants", { body: { graph_id: "echo", name: "wide", config: value } }),
      own.fetch("/runs/crons", { body: { assistant_id: "echo", schedule: "0 0 1 1 *", input: value } }),
      own.fetch("/store/items", {
        method: "PUT",
        body: { namespace: ["w"], key: String(i), value, index: ["name"] },
      }),
    ]);
    expect(made.map(({ status }) => status)).toEqual([200, 200, 204]);
  }
  const [assistant] = await (
    await own.fetch("/assistants/search", { body: { name: "wide", limit: 1 } })
  ).json<{ assistant_id: string }[]>();
  const path = `/assistants/${assistant!.assistant_id}`;
  for (let i = 0; i < 20; i++) await own.fetch(path, { method: "PATCH", body: { metadata: { i } } });
  const lists: [path: string, body: object][] = [
    ["/assistants/search", { name: "wide" }],
    [`${path}/versions`, {}],
    ["/runs/crons/search", {}],
    ["/store/items/search", { namespace_prefix: ["w"] }],
    ["/store/items/search", { namespace_prefix: ["w"], query: "whale" }],
  ];
  for (const [list, body] of lists) {
    const whole = await own.fetch(list, { body: { ...body, limit: 20 } });
    expect([list, whole.status]).toEqual([list, 413]);
    expect((await whole.json<{ detail: string }>()).detail).toContain("limit");
    for (const limit of [5, 10]) {
      const part = await own.fetch(list, { body: { ...body, limit } });
      expect([list, part.status]).toEqual([list, 200]);
      const read = await part.json<unknown[] | { items: unknown[] }>();
      expect("items" in read ? read.items : read).toHaveLength(limit);
    }
  }
});

it("an export names no more fields than there are", async () => {
  const body = {
    bulk_export_destination_id: crypto.randomUUID(),
    session_id: crypto.randomUUID(),
    start_time: "2026-01-01T00:00:00Z",
    end_time: "2026-01-02T00:00:00Z",
  };
  const fields = (n: number) => ({ ...body, export_fields: Array.from({ length: n }, () => "id") });
  expect((await call("POST", "/api/v1/bulk-exports", fields(30))).status).toBe(404);
  expect((await call("POST", "/api/v1/bulk-exports", fields(2_000))).status).toBe(422);
});

it("leaves no row that the platform would not hold", async () => {
  for (const [table, bytes] of await longestRows()) expect([table, bytes < ROW]).toEqual([table, true]);
});

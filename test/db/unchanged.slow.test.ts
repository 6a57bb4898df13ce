/** Changes of one row that come at the same time: each of them is in what is stored after them. */
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { makeKey } from "../../src/access/auth/keys.ts";
import { deleteKeys } from "../../src/access/auth/key-deletion.ts";
import { type ApiKeyRow, findKey, rollKey, updateKey } from "../../src/access/auth/store.ts";
import { applyCronPatch } from "../../src/automation/crons/row.ts";
import { findCron, recordDue, updateCron } from "../../src/automation/crons/store.ts";
import { database } from "../../src/db/client.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { get } from "../threads/client.ts";

type Json = Record<string, unknown>;

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

/** An answer that names what the request made. */
interface Made {
  id: string;
  cron_id: string;
  assistant_id: string;
  thread_id: string;
}

async function call<T = Made>(path: string, body: object, method = "POST"): Promise<T> {
  const answer = await caller.fetch(path, { body, method });
  expect(answer.status, `${method} ${path}`).toBeLessThan(300);
  return answer.json<T>();
}

const metadata = (n: number) => ({ metadata: { [`k${n}`]: n } });
const EIGHT = Array.from({ length: 8 }, (_, n) => n);
const merged = EIGHT.map(metadata);
const union = { metadata: Object.fromEntries(EIGHT.map((n) => [`k${n}`, n])) };

interface Kind {
  kind: string;
  /** Makes one, and gives its path. */
  make: () => Promise<string>;
  changes: Json[];
  /** What it has after all changes. */
  after: Json;
  /** How a change is sent. Left out: a PATCH of the path. */
  send?: (path: string, change: Json) => Promise<unknown>;
  read?: (path: string) => Promise<Json>;
}

const cron = { assistant_id: "echo", schedule: "0 0 1 1 *", input: {} };
const project = async (extra: Json = {}) =>
  `/api/v1/sessions/${(await call("/api/v1/sessions", { name: "p", extra })).id}`;

const KINDS: Kind[] = [
  {
    kind: "a cron",
    make: async () => `/runs/crons/${(await call("/runs/crons", cron)).cron_id}`,
    changes: [{ enabled: false }, { schedule: "0 0 2 1 *" }, { timezone: "Europe/Berlin" }, ...merged],
    after: { enabled: false, schedule: "0 0 2 1 *", ...union },
  },
  {
    kind: "an assistant",
    make: async () => `/assistants/${(await call("/assistants", { graph_id: "echo" })).assistant_id}`,
    changes: [{ name: "n" }, { description: "d" }, ...merged],
    after: { name: "n", description: "d", ...union },
  },
  {
    kind: "a project",
    make: project,
    changes: [{ description: "d" }, { retention_days: 9 }, ...EIGHT.map((n) => ({ extra: { [`k${n}`]: n } }))],
    after: { description: "d", retention_days: 9, extra: union.metadata },
  },
  {
    kind: "a project, by its name",
    make: project,
    changes: EIGHT.map((n) => ({ name: "p", extra: { [`k${n}`]: n } })),
    after: { extra: union.metadata },
    send: (_, change) => call("/api/v1/sessions?upsert=true", change),
  },
  {
    kind: "a dataset",
    make: async () => `/api/v1/datasets/${(await call("/api/v1/datasets", { name: "d" })).id}`,
    changes: [{ name: "n" }, { description: "d" }, { metadata: { k: 1 } }],
    after: { name: "n", description: "d", metadata: { k: 1 } },
  },
  {
    kind: "an example",
    make: async () => {
      const { id } = await call("/api/v1/datasets", { name: "d" });
      return `/api/v1/examples/${(await call("/api/v1/examples", { dataset_id: id, inputs: { a: 1 } })).id}`;
    },
    changes: [{ outputs: { b: 1 } }, { split: "test" }, { inputs: { a: 2 } }],
    after: { inputs: { a: 2 }, outputs: { b: 1 }, metadata: { dataset_split: ["test"] } },
  },
  {
    kind: "a feedback",
    make: async () => {
      const session_id = (await project()).split("/").at(-1);
      return `/api/v1/feedback/${(await call("/api/v1/feedback", { session_id, key: "note" })).id}`;
    },
    changes: [{ score: 1 }, { comment: "c" }, { value: "v" }, { correction: { c: 1 } }],
    after: { score: 1, comment: "c", value: "v", correction: { c: 1 } },
  },
  {
    kind: "the config of a feedback key",
    make: async () => {
      await call("/api/v1/feedback-configs", { feedback_key: "note", feedback_config: { type: "freeform" } });
      return "/api/v1/feedback-configs";
    },
    changes: [
      { feedback_key: "note", is_lower_score_better: true },
      { feedback_key: "note", feedback_config: { type: "continuous", min: 0, max: 1 } },
    ],
    after: { is_lower_score_better: true, feedback_config: { type: "continuous", min: 0, max: 1 } },
    read: async (path) => (await get<Json[]>(caller, path))[0] ?? {},
  },
  {
    kind: "an API key",
    make: async () => `/api/v1/api-keys/${(await call("/api/v1/api-keys", { name: "k" })).id}`,
    changes: [{ name: "n" }, { scopes: ["read"] }, { allowed_ips: ["192.0.2.0/24"] }],
    after: { name: "n", scopes: ["read"], allowed_ips: ["192.0.2.0/24"] },
    read: async (path) => {
      const all = await get<Json[]>(caller, "/api/v1/api-keys");
      return all.find(({ id }) => path.endsWith(String(id))) ?? {};
    },
  },
  {
    kind: "a thread",
    make: async () => `/threads/${(await call("/threads", {})).thread_id}`,
    changes: merged,
    after: union,
  },
];

it.each(KINDS)("concurrent changes of $kind are all kept", async ({ make, changes, after, send, read }) => {
  const path = await make();
  const patch = (change: Json) => call(path, change, "PATCH");
  await Promise.all(changes.map((change) => (send ? send(path, change) : patch(change))));
  expect(await (read ?? ((one) => get(caller, one)))(path)).toMatchObject(after);
});

it("an update of an assistant keeps the version that another request makes active", async () => {
  const { assistant_id } = await call("/assistants", { graph_id: "echo", context: { v: 1 } });
  const path = `/assistants/${assistant_id}`;
  await call(path, { context: { v: 2 } }, "PATCH");
  for (let n = 0; n < 5; n++) {
    const version = await call<{ version: number }>(`${path}/latest`, { version: 2 });
    expect(version).toMatchObject({ version: 2, context: { v: 2 } });
    await Promise.all([call(`${path}/latest`, { version: 1 }), call(path, { metadata: { n } }, "PATCH")]);
    // Whichever came first.
    expect(await get(caller, path)).toMatchObject({ context: { v: 1 } });
  }
});

describe("a row that has changed since it was read is not written", () => {
  const db = database(env.DB);

  it("a cron that a tick has moved", async () => {
    const { cron_id } = await call("/runs/crons", cron);
    const read = await findCron(db, caller.workspaceId, cron_id);
    if (!read?.nextRunDate) throw new Error("The cron has no due time.");
    const next = read.nextRunDate + 1_000;
    await recordDue(db, [{ id: cron_id, from: read.nextRunDate, due: [], next }]);
    expect(await updateCron(db, read, applyCronPatch(read, { enabled: false }))).toBeUndefined();
    expect(await findCron(db, caller.workspaceId, cron_id)).toMatchObject({ enabled: true, nextRunDate: next });
  });

  const KEY_CHANGES: [string, (key: ApiKeyRow) => Promise<unknown>][] = [
    ["narrowed", (key) => updateKey(db, key, { scopes: ["read"] })],
    ["given an end", (key) => updateKey(db, key, { expiresAt: Date.now() + 60_000 })],
    ["limited to a network", (key) => updateKey(db, key, { allowedIps: ["192.0.2.0/24"] })],
    ["deleted", (key) => deleteKeys(db, { ...key, predecessors: false }, Date.now())],
    ["given a role", (key) => updateKey(db, key, { role: "viewer" })],
  ];

  it.each(KEY_CHANGES)("a key that was %s is not changed by a request that read it before", async (_, change) => {
    const { id } = await call("/api/v1/api-keys", { name: "k" });
    const old = await findKey(db, caller.workspaceId, id);
    if (!old) throw new Error("There is no key.");
    await change(old);
    const after = await findKey(db, caller.workspaceId, id);
    expect(await updateKey(db, old, { name: "n", expiresAt: Date.now() + 3_600_000 })).toBeUndefined();
    expect(await findKey(db, caller.workspaceId, id)).toEqual(after);
  });

  it("a key whose row was written with spaces is changed", async () => {
    const { id } = await call("/api/v1/api-keys", { name: "k" });
    await env.DB.prepare(`UPDATE api_keys SET scopes = '["read", "write"]' WHERE id = ?`).bind(id).run();
    expect(await call(`/api/v1/api-keys/${id}`, { name: "n" }, "PATCH")).toMatchObject({ name: "n" });
  });

  it.each(KEY_CHANGES)("a key that was %s gets no successor with its earlier terms", async (_, change) => {
    const { id } = await call("/api/v1/api-keys", { name: "k" });
    const old = await findKey(db, caller.workspaceId, id);
    if (!old) throw new Error("There is no key.");
    await change(old);
    const after = await findKey(db, caller.workspaceId, id);
    const maker = { workspaceId: caller.workspaceId, kind: "admin", scopes: ["admin"], credentialId: "admin" } as const;
    const terms = {
      name: old.name,
      scopes: ["read", "write"] as ("read" | "write")[],
      expiresAt: null,
      allowedIps: null,
      role: null,
    };
    const { row } = makeKey(maker, crypto.randomUUID(), terms);
    expect(await rollKey(db, old, row, Date.now() + 3_600_000)).toBe(false);
    expect(await findKey(db, caller.workspaceId, id)).toEqual(after);
    expect(await findKey(db, caller.workspaceId, row.id)).toBeUndefined();
    const again = after === undefined || (await rollKey(db, after, row, Date.now() + 3_600_000));
    expect(again).toBe(true);
  });
});

it.each(["/api/v1/sessions", "/api/v1/datasets"])(
  "of concurrent changes in %s to one name, one is a conflict",
  async (path) => {
    const ids = await Promise.all(["a", "b"].map(async (name) => (await call(path, { name })).id));
    const renamed = ids.map((id) => caller.fetch(`${path}/${id}`, { method: "PATCH", body: { name: "c" } }));
    const statuses = (await Promise.all(renamed)).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 409]);
  },
);

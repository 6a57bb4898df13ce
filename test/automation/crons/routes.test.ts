import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { fireDueCrons, startFiring, threadsFor } from "../../../src/automation/crons/fire.ts";
import type { FiringRow } from "../../../src/automation/crons/store.ts";
import { database } from "../../../src/db/client.ts";
import { threadStub } from "../../../src/threads/remote.ts";
import worker from "../../../examples/demo/worker.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import "../../support/graphs.ts";

interface Cron {
  cron_id: string;
  assistant_id: string;
  thread_id: string | null;
  next_run_date: string | null;
  enabled: boolean;
  [field: string]: unknown;
}
interface Run {
  run_id: string;
  status: string;
  metadata: Record<string, unknown>;
}

let caller: Caller;
beforeEach(async () => {
  caller = await newCaller();
});

async function call<T = Cron>(path: string, body?: unknown, method?: string): Promise<T> {
  const response = await caller.fetch(path, { body, method });
  expect(response.status).toBe(200);
  return response.json<T>();
}
const newThread = async () => (await call<{ thread_id: string }>("/threads", {})).thread_id;
const input = { messages: [{ role: "user", content: "hi" }] };

/** A tick at `now`, and its messages worked on at once. Returns the ids of the crons that fired. */
async function clock(now: number): Promise<string[]> {
  const messages: FiringRow[] = [];
  const CRON_QUEUE = {
    sendBatch: async (batch: { body: FiringRow }[]) => void messages.push(...batch.map(({ body }) => body)),
  };
  await fireDueCrons({ DB: env.DB, CRON_QUEUE } as never, now);
  for (const firing of [...messages, ...messages]) await startFiring(database(env.DB), firing, threadsFor(env), now);
  return messages.map(({ cronId }) => cronId);
}

describe("the crons on a thread", () => {
  const onThread = async () => {
    const thread = await newThread();
    const cron = await call(`/threads/${thread}/runs/crons`, { assistant_id: "echo", schedule: "* * * * *", input });
    return { thread, path: `/runs/crons/${cron.cron_id}`, due: Date.parse(String(cron.next_run_date)) };
  };
  const readStatus = async (path: string) => (await caller.fetch(path)).status;

  it("are deleted with it, on every route that deletes threads", async () => {
    const other = await onThread();
    const routes: ((thread: string) => Promise<Response>)[] = [
      (thread) => caller.fetch(`/threads/${thread}`, { method: "DELETE" }),
      (thread) => caller.fetch(`/api/threads/${thread}`, { method: "DELETE" }),
      (thread) => caller.fetch("/threads/prune", { body: { thread_ids: [thread], strategy: "delete" } }),
    ];
    for (const remove of routes) {
      const { thread, path } = await onThread();
      expect((await remove(thread)).ok).toBe(true);
      expect(await readStatus(path)).toBe(404);
    }
    expect(await readStatus(other.path)).toBe(200);
  });

  it("are deleted at their next due time when it has expired", async () => {
    const { thread, path, due } = await onThread();
    await threadStub(env, caller.workspaceId, thread).remove();
    expect(await readStatus(path)).toBe(200);
    await clock(due);
    expect(await readStatus(path)).toBe(404);
  });
});

describe("a cron", () => {
  it("on a thread starts its runs there, once a due time", async () => {
    const thread = await newThread();
    const cron = await call(`/threads/${thread}/runs/crons`, {
      assistant_id: "echo",
      schedule: "0 12 * * *",
      timezone: "America/New_York",
      input,
      metadata: { team: "a" },
    });
    expect(cron).toMatchObject({
      thread_id: thread,
      enabled: true,
      on_run_completed: null,
      timezone: "America/New_York",
    });
    expect(cron.payload).toMatchObject({ input });
    const due = Date.parse(String(cron.next_run_date));
    expect([16, 17]).toContain(new Date(due).getUTCHours());
    await Promise.all([clock(due), clock(due)]);
    await clock(due + 60_000);

    const runs = await call<Run[]>(`/threads/${thread}/runs`);
    expect(runs).toMatchObject([{ metadata: { team: "a", cron_id: cron.cron_id } }]);
    const joined = await call<{ messages: { content: string }[] }>(`/threads/${thread}/runs/${runs[0]?.run_id}/join`);
    expect(joined.messages.at(-1)?.content).toBe("You said: hi");
    const after = await call(`/runs/crons/${cron.cron_id}`);
    expect(Date.parse(String(after.next_run_date))).toBeGreaterThan(due + 22 * 3_600_000);
    await caller.fetch(`/runs/crons/${cron.cron_id}`, { method: "DELETE" });
  });

  it("without a thread gives each firing one, and deletes it unless the cron keeps it", async () => {
    const kept = await call("/runs/crons", {
      assistant_id: "echo",
      schedule: "* * * * *",
      input,
      on_run_completed: "keep",
    });
    const due = Date.parse(String(kept.next_run_date));
    const gone = await call("/runs/crons", { assistant_id: "echo", schedule: "* * * * *", input });
    expect(gone).toMatchObject({ thread_id: null, on_run_completed: "delete" });
    expect((await clock(due)).toSorted()).toEqual([kept.cron_id, gone.cron_id].toSorted());
    const ofCron = (cron: Cron) =>
      call<{ thread_id: string }[]>("/threads/search", { metadata: { cron_id: cron.cron_id } });
    expect(await ofCron(kept)).toHaveLength(1);
    for (const cron of [kept, gone]) await caller.fetch(`/runs/crons/${cron.cron_id}`, { method: "DELETE" });
    for (const thread of await call<{ thread_id: string }[]>("/threads/search", {})) {
      const [run] = await call<Run[]>(`/threads/${thread.thread_id}/runs`);
      await call(`/threads/${thread.thread_id}/runs/${run?.run_id}/join`);
    }
    await clock(due + 120_000);
    expect(await ofCron(kept)).toHaveLength(1);
    expect(await ofCron(gone)).toEqual([]);
  });

  it("lists its firings with their runs, and how they ended", async () => {
    const assistant = await call<{ assistant_id: string }>("/assistants", { graph_id: "actor" });
    const kept = { schedule: "* * * * *", on_run_completed: "keep" };
    const well = await call("/runs/crons", { assistant_id: "echo", input, ...kept });
    const messages = [{ role: "user", content: "fail" }];
    const badly = await call("/runs/crons", { ...kept, assistant_id: assistant.assistant_id, input: { messages } });
    const listFirings = (...crons: Cron[]) =>
      call<Record<string, string>[]>("/runs/crons/firings", { cron_ids: crons.map(({ cron_id }) => cron_id) });
    expect(await listFirings(well, badly)).toEqual([]);
    const due = Date.parse(String(well.next_run_date));
    await clock(due);
    for (const { thread_id, run_id } of await listFirings(well, badly))
      await (await caller.fetch(`/threads/${thread_id}/runs/${run_id}/join`)).text();
    // As it is now, before the next sweep records it.
    expect(
      (await listFirings(well, badly)).map(({ state }) => state).toSorted((a = "", b = "") => a.localeCompare(b)),
    ).toEqual(["ended", "failed"]);
    for (const cron of [well, badly]) await call(`/runs/crons/${cron.cron_id}`, { enabled: false }, "PATCH");
    await clock(due + 120_000);
    const at = new Date(due).toISOString();
    expect(await listFirings(well)).toMatchObject([{ cron_id: well.cron_id, due: at, state: "ended" }]);
    expect(await listFirings(badly)).toMatchObject([{ cron_id: badly.cron_id, due: at, state: "failed" }]);
    const other = await newCaller();
    const asked = { cron_ids: [well.cron_id] };
    expect(await (await other.fetch("/runs/crons/firings", { body: asked })).json()).toEqual([]);
    expect((await caller.fetch("/runs/crons/firings", { body: { cron_ids: ["no id"] } })).status).toBe(422);
  });

  it("says of each firing of a page whether its run is over", async () => {
    const { cron_id } = await call("/runs/crons", { assistant_id: "echo", schedule: "0 0 * * *", input });
    await env.DB.prepare(
      `INSERT INTO cron_firings (workspace_id, cron_id, due, state, touched_at)
       SELECT c.workspace_id, c.id, ?1 - 60000 * minute.value, 'started', ?1
       FROM crons c, json_each(?2) minute WHERE c.id = ?3`,
    )
      .bind(Date.now(), JSON.stringify(Array.from({ length: 100 }, (_, i) => i)), cron_id)
      .run();
    const firings = await call<{ state: string }[]>("/runs/crons/firings", { cron_ids: [cron_id], limit: 100 });
    expect(firings).toHaveLength(100);
    expect(firings.filter(({ state }) => state === "running")).toEqual([]);
  });

  it("is changed in part, switched off and on, and its end taken away", async () => {
    const cron = await call("/runs/crons", {
      assistant_id: "echo",
      schedule: "0 0 * * *",
      end_time: "2999-01-01T00:00:00Z",
    });
    const path = `/runs/crons/${cron.cron_id}`;
    expect(cron.end_time).toBe("2999-01-01T00:00:00.000Z");
    expect(await call(path, { enabled: false }, "PATCH")).toMatchObject({ enabled: false, next_run_date: null });
    expect(await call(path, { enabled: true, end_time: null }, "PATCH")).toMatchObject({
      enabled: true,
      end_time: null,
    });
    const changed = await call(path, { schedule: "30 6 * * 1", input: { x: 1 }, metadata: { k: "v" } }, "PATCH");
    expect(changed).toMatchObject({ schedule: "30 6 * * 1", payload: { input: { x: 1 } }, metadata: { k: "v" } });
    expect(new Date(String(changed.next_run_date)).getUTCHours()).toBe(6);
    expect(await call(path, { end_time: "2001-01-01T00:00:00Z" }, "PATCH")).toMatchObject({ next_run_date: null });
    expect((await caller.fetch(path, { body: {}, method: "PATCH" })).status).toBe(400);
  });

  it("goes with its assistant", async () => {
    const assistant = await call<{ assistant_id: string }>("/assistants", { graph_id: "echo" });
    const cron = await call("/runs/crons", { assistant_id: assistant.assistant_id, schedule: "0 0 * * *" });
    await caller.fetch(`/assistants/${assistant.assistant_id}`, { method: "DELETE" });
    expect((await caller.fetch(`/runs/crons/${cron.cron_id}`)).status).toBe(404);
  });
});

describe("crons", () => {
  it("are searched and counted", async () => {
    const thread = await newThread();
    const one = await call("/runs/crons", { assistant_id: "echo", schedule: "0 1 * * *", metadata: { k: 1 } });
    const two = await call(`/threads/${thread}/runs/crons`, {
      assistant_id: "echo",
      schedule: "0 2 * * *",
      enabled: false,
    });
    const ids = async (search: object) =>
      (await call<Cron[]>("/runs/crons/search", search)).map(({ cron_id }) => cron_id);
    expect(await ids({})).toEqual([two.cron_id, one.cron_id]);
    expect(await ids({ sort_by: "created_at", sort_order: "asc", limit: 1 })).toEqual([one.cron_id]);
    expect(await ids({ thread_id: thread })).toEqual([two.cron_id]);
    expect(await ids({ enabled: true })).toEqual([one.cron_id]);
    expect(await ids({ metadata: { k: 1 } })).toEqual([one.cron_id]);
    expect(await ids({ assistant_id: "agent" })).toEqual([]);
    expect(await call("/runs/crons/search", { select: ["schedule"], assistant_id: "echo", limit: 1 })).toEqual([
      { schedule: "0 2 * * *" },
    ]);
    expect(await call("/runs/crons/count", { assistant_id: "echo" })).toBe(2);
    expect(await call("/runs/crons/count", { metadata: { k: 1 } })).toBe(1);
  });

  it.each([
    [{ assistant_id: "echo" }, 422, "schedule"],
    [{ assistant_id: "echo", schedule: "* * * * * *" }, 422, "five fields"],
    [{ assistant_id: "echo", schedule: "0 0 30 2 *" }, 422, "due at some time"],
    [{ assistant_id: "echo", schedule: "61 * * * *" }, 422, "cron expression"],
    [{ assistant_id: "echo", schedule: "* * * * *", timezone: "Mars/Olympus" }, 422, "IANA"],
    [{ assistant_id: "echo", schedule: "* * * * *", end_time: "soon" }, 422, "ISO 8601"],
    [{ assistant_id: "echo", schedule: "* * * * *", webhook: "https://127.0.0.1/x" }, 422, "webhook"],
    [{ assistant_id: "absent", schedule: "* * * * *" }, 404, "Assistant"],
    [{ schedule: "* * * * *" }, 422, "assistant_id"],
  ])("refuse %j", async (body, status, detail) => {
    for (const path of ["/runs/crons", `/threads/${await newThread()}/runs/crons`]) {
      const response = await caller.fetch(path, { body });
      expect(response.status).toBe(status);
      expect((await response.json<{ detail: string }>()).detail).toContain(detail);
    }
  });

  it("need a thread that exists", async () => {
    const body = { assistant_id: "echo", schedule: "* * * * *" };
    const response = await caller.fetch(`/threads/${crypto.randomUUID()}/runs/crons`, { body });
    expect(response.status).toBe(404);
  });
});

it("the Worker's clock also clears what is over", async () => {
  const body = { namespace: ["clock"], key: "k", value: {}, ttl: 1 };
  await caller.fetch("/store/items", { method: "PUT", body });
  const left = async () =>
    (await env.DB.prepare("SELECT key FROM store_items WHERE namespace = 'clock.'").all()).results.length;
  expect(await left()).toBe(1);
  await worker.scheduled(createScheduledController({ scheduledTime: new Date(Date.now() + 61_000) }), env);
  expect(await left()).toBe(0);
});

it("the crons on a thread are found by an index", async () => {
  const sql = "DELETE FROM crons WHERE workspace_id = ? AND thread_id IN (SELECT value FROM json_each(?))";
  const plan = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`).bind("w", "[]").all<{ detail: string }>();
  expect(plan.results.map(({ detail }) => detail).join("\n")).toContain(
    "crons_thread (workspace_id=? AND thread_id=?)",
  );
});

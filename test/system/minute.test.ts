/** What the clock starts every minute, and what comes by the queues. */
import { createExecutionContext, createMessageBatch, createScheduledController, getQueueResult } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createCron } from "../../src/automation/crons/row.ts";
import { insertCron } from "../../src/automation/crons/store.ts";
import { database } from "../../src/db/client.ts";
import { runAll } from "../../src/lib/parallel.ts";
import worker from "../../examples/demo/worker.ts";
import { housekeeping } from "../../src/system/housekeeping.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import settings from "../../wrangler.toml?raw";

const db = database(env.DB);
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let caller: Caller;
let logged: string[];
beforeEach(async () => {
  logged = [];
  vi.spyOn(console, "error").mockImplementation((line: string) => void logged.push(line));
  caller = await newCaller();
});
afterEach(() => void vi.restoreAllMocks());

/** An export whose destination is not there. */
async function newExport(status: "CREATED" | "RUNNING"): Promise<string> {
  const id = crypto.randomUUID();
  const at = Date.now();
  await env.DB.prepare(
    `INSERT INTO bulk_exports (id, workspace_id, destination_id, all_experiments, start_time, end_time, format_version,
       compression, status, started_at, created_at, updated_at)
     VALUES (?, ?, 'gone', 1, 0, 1, 'v2_beta', 'none', ?, ?, ?, ?)`,
  )
    .bind(id, caller.workspaceId, status, at, at, at)
    .run();
  return id;
}

describe("every minute", () => {
  const throwDown = (): never => {
    throw new Error("The queue is down.");
  };
  const broken = { send: throwDown, sendBatch: throwDown } as unknown as Queue;

  /** A cron that is due once (that of each minute would be due twice when a minute has just begun), an export that waits, and an answer that was kept long enough. */
  async function somethingOfEach() {
    const { workspaceId } = caller;
    const key = crypto.randomUUID();
    const cron = {
      ...createCron({ id: crypto.randomUUID(), workspaceId }, { assistant_id: "a", schedule: "0 0 1 1 *" }, "t"),
      nextRunDate: Date.now() - 1_000,
    };
    await insertCron(db, cron);
    await env.DB.prepare(
      "INSERT INTO idempotency_keys (workspace_id, key, fingerprint, created_at, epoch) VALUES (?1, ?2, '', ?3, ?3)",
    )
      .bind(workspaceId, key, Date.now() - 2 * DAY)
      .run();
    const id = await newExport("CREATED");
    return async () => ({
      cron: await env.DB.prepare("SELECT count(*) AS n FROM cron_firings WHERE cron_id = ?").bind(cron.id).first("n"),
      key: await env.DB.prepare("SELECT count(*) AS n FROM idempotency_keys WHERE key = ?").bind(key).first("n"),
      export: await env.DB.prepare("SELECT status FROM bulk_exports WHERE id = ?").bind(id).first("status"),
    });
  }

  const minute = (bindings: Partial<Env>) =>
    worker.scheduled(createScheduledController({ scheduledTime: new Date() }), { ...env, ...bindings });

  it("crons that fail keep neither exports nor housekeeping from their work, and are seen to fail", async () => {
    const left = await somethingOfEach();
    await expect(minute({ CRON_QUEUE: broken })).rejects.toThrow("1 of 5 failed");
    expect(await left()).toEqual({ cron: 1, key: 0, export: "RUNNING" });
    expect(logged.join()).toContain('"while":"crons"');
  });

  it("exports that fail keep neither crons nor housekeeping from their work", async () => {
    const left = await somethingOfEach();
    await expect(minute({ EXPORTS: broken })).rejects.toThrow("1 of 5 failed");
    expect(await left()).toEqual({ cron: 1, key: 0, export: "RUNNING" });
  });

  it("several failures are all reported, after everything has ended", async () => {
    const ended: string[] = [];
    const failed = runAll({
      first: async () => throwDown(),
      second: async () => {
        await scheduler.wait(5);
        ended.push("second");
      },
      third: () => throwDown(),
    }).catch((error: unknown) => error);
    expect(((await failed) as AggregateError).errors).toHaveLength(2);
    expect(ended).toEqual(["second"]);
  });
});

describe("housekeeping", () => {
  it("deletes a bounded number of rows each minute, and continues with the next", async () => {
    const before = Date.now() - 3 * DAY;
    // Ten thousand rows and a few, of 1,000 a statement.
    await env.DB.prepare(
      `INSERT INTO idempotency_keys (workspace_id, key, fingerprint, created_at, epoch)
       SELECT ?1, a.value || '-' || b.value, '', ?2, ?2 FROM json_each(?3) a, json_each(?4) b`,
    )
      .bind(caller.workspaceId, before, JSON.stringify([...Array(101).keys()]), JSON.stringify([...Array(100).keys()]))
      .run();
    const left = () =>
      env.DB.prepare("SELECT count(*) AS n FROM idempotency_keys WHERE workspace_id = ?")
        .bind(caller.workspaceId)
        .first("n");
    await housekeeping(env, 3 * MINUTE + Date.now() - (Date.now() % (60 * MINUTE)));
    expect(await left()).toBe(100);
    await housekeeping(env, 4 * MINUTE + Date.now() - (Date.now() % (60 * MINUTE)));
    expect(await left()).toBe(0);
  });
});

describe("a queue of any name", () => {
  async function deliver(queue: string, bodies: unknown[], attempts = 1) {
    const messages = bodies.map((body, i) => ({ id: String(i), timestamp: new Date(), attempts, body }));
    const batch = createMessageBatch(queue, messages);
    const ctx = createExecutionContext();
    await worker.queue(batch, env);
    return getQueueResult(batch, ctx);
  }
  const createFiring = () => ({ workspaceId: caller.workspaceId, cronId: crypto.randomUUID(), due: Date.now() });

  it.each(["acme-crons", "acme-exports", "everything", "weir-crons", "weir-exports"])(
    "%s takes messages of crons and of exports",
    async (name) => {
      const due = createFiring();
      await env.DB.prepare(
        "INSERT INTO cron_firings (workspace_id, cron_id, due, state, touched_at) VALUES (?, ?, ?, 'due', 0)",
      )
        .bind(due.workspaceId, due.cronId, due.due)
        .run();
      const result = await deliver(name, [due, { exportId: crypto.randomUUID() }, { runId: crypto.randomUUID() }]);
      expect(result.explicitAcks.toSorted()).toEqual(["0", "1", "2"]);
      expect(result.retryMessages).toEqual([]);
      // Its cron is gone, so the firing is refused: it was the consumer of crons that looked.
      const state = await env.DB.prepare("SELECT state FROM cron_firings WHERE cron_id = ?")
        .bind(due.cronId)
        .first("state");
      expect(state).toBe("refused");
    },
  );

  it("drops a message of no known shape, and keeps the others", async () => {
    const bodies = [
      null,
      "text",
      { runId: 5 },
      { exportId: "a", runId: "b" },
      { ...createFiring(), more: 1 },
      { exportId: crypto.randomUUID() },
    ];
    const result = await deliver("acme", bodies);
    expect(result.explicitAcks.toSorted()).toEqual(["0", "1", "2", "3", "4", "5"]);
    expect(logged).toHaveLength(5);
  });

  it("counts a message that failed five times as a failed attempt of its export", async () => {
    const id = await newExport("RUNNING");
    const row = () => env.DB.prepare("SELECT retries, error FROM bulk_exports WHERE id = ?").bind(id).first();
    await deliver("acme-exports", [{ exportId: id }], 6);
    expect(await row()).toEqual({ retries: 1, error: expect.stringContaining("Interrupted") });
    expect(Number(/max_retries = (\d+)\s+retry_delay/.exec(settings)?.[1])).toBe(5);
  });
});

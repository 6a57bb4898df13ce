import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { createCron } from "../../../src/automation/crons/row.ts";
import { type FiringIds, type CronThreads, fireDueCrons, startFiring } from "../../../src/automation/crons/fire.ts";
import {
  type CronRow,
  deleteCron,
  type FiringRow,
  findCron,
  insertCron,
  updateCron,
} from "../../../src/automation/crons/store.ts";
import { database } from "../../../src/db/client.ts";
import { Problem } from "../../../src/lib/problem.ts";
import { seeded } from "../../support/random.ts";

const db = database(env.DB);
const MINUTE = 60_000;

/** A queue that keeps its messages until they are handed out, and threads that record the started runs. */
function world() {
  const queue: FiringRow[] = [];
  const started = new Map<string, string>();
  const threads: CronThreads & { fails: boolean; running: Set<string>; failed: Set<string>; removed: string[] } = {
    fails: false,
    running: new Set(),
    failed: new Set(),
    removed: [],
    async start(cron: CronRow, { runId, threadId }: FiringIds) {
      if (threads.fails) throw new Problem(503, "the object cannot be reached");
      started.set(runId, `${cron.id} ${threadId}`);
      threads.running.add(runId);
    },
    exists: async () => true,
    async outcome(_workspaceId, { runId }) {
      if (threads.running.has(runId)) return undefined;
      return threads.failed.has(runId) ? "failed" : "ended";
    },
    async remove(_workspaceId, threadId) {
      threads.removed.push(threadId);
      return true;
    },
  };
  const CRON_QUEUE = {
    sendBatch: async (batch: Iterable<{ body: FiringRow }>) => void queue.push(...[...batch].map(({ body }) => body)),
  };
  return {
    queue,
    started,
    threads,
    tick: (now: number) => fireDueCrons({ DB: env.DB, CRON_QUEUE } as never, now),
    async deliver(now: number) {
      for (const firing of queue.splice(0)) await startFiring(db, firing, threads, now);
    },
  };
}

async function newCron(now: number, more: Partial<CronRow> = {}, schedule = "* * * * *"): Promise<CronRow> {
  const row = {
    ...createCron({ id: crypto.randomUUID(), workspaceId: "w" }, { assistant_id: "a", schedule }, "t"),
    nextRunDate: now,
    ...more,
  };
  await insertCron(db, row);
  return row;
}
const listFirings = async (cron: CronRow) => {
  const all = await env.DB.prepare("SELECT due, state, error FROM cron_firings WHERE cron_id = ? ORDER BY due")
    .bind(cron.id)
    .all();
  return all.results as { due: number; state: string }[];
};

/** D1 that records its statements. */
function countStatements() {
  const statements: string[] = [];
  const DB = new Proxy(env.DB, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      if (name !== "prepare") return member.bind(target);
      return (text: string) => {
        statements.push(text);
        return target.prepare(text);
      };
    },
  });
  return { DB, statements };
}

describe("a minute with many due crons", () => {
  it("queries D1 a few times for any number of crons, and reads none of their payloads", async () => {
    const start = Date.parse("2026-04-01T00:00Z");
    const rows = await Promise.all(Array.from({ length: 120 }, () => newCron(start)));
    const { queue, ...run } = world();
    const { DB, statements } = countStatements();
    await fireDueCrons({ DB, CRON_QUEUE: { sendBatch: async () => undefined } } as never, start);
    expect(statements.length).toBeLessThan(12);
    expect(statements.filter((text) => text.includes("payload"))).toEqual([]);
    for (const cron of rows) expect(await listFirings(cron)).toEqual([{ due: start, state: "due", error: null }]);
    const [moved] = rows;
    expect((await findCron(db, "w", moved!.id))?.nextRunDate).toBe(start + MINUTE);
    await run.tick(start + 2 * MINUTE);
    await Promise.all(rows.map(({ id }) => deleteCron(db, "w", id)));
    await run.deliver(start + 2 * MINUTE);
    expect(queue).toEqual([]);
  });
});

async function change(cron: CronRow, changed: Partial<CronRow>): Promise<void> {
  const row = await findCron(db, "w", cron.id);
  expect(row && (await updateCron(db, row, { updatedAt: row.updatedAt + 1, ...changed }))).toBeDefined();
}

describe("a due time", () => {
  it("starts one run, with late, lost or repeated ticks and messages", async () => {
    const random = seeded("crons");
    const chance = (one: number) => random.between(0, one) === 0;
    const start = Date.parse("2026-05-01T00:00Z");
    const cron = await newCron(start);
    const { queue, started, threads, ...run } = world();
    const minutes = 120;
    for (let minute = 0; minute < minutes; minute++) {
      const now = start + minute * MINUTE + random.between(0, 60) * 1000;
      const ticks = [0, 1, 1, 1, 2, 3][random.between(0, 6)] ?? 1;
      await Promise.all(Array.from({ length: ticks }, () => run.tick(now)));
      // A run ends within a minute. A run that stays open is checked again.
      threads.running.clear();
      threads.fails = chance(10);
      if (chance(5)) queue.splice(random.between(0, 4), 2);
      if (chance(3)) queue.push(...queue);
      await run.deliver(now).catch(() => undefined);
    }
    threads.fails = false;
    const end = start + minutes * MINUTE;
    for (const later of [0, 2, 4, 6]) {
      if (later === 6) {
        await change(cron, { enabled: false });
        threads.running.clear();
      }
      await run.tick(end + later * MINUTE);
      await run.deliver(end + later * MINUTE);
    }
    const due = (await listFirings(cron)).map((firing) => firing.due);
    expect(due).toEqual(Array.from({ length: minutes + 5 }, (_, minute) => start + minute * MINUTE));
    expect(started.size).toBe(due.length);
    expect((await listFirings(cron)).every(({ state }) => state === "ended")).toBe(true);
    await deleteCron(db, "w", cron.id);
  });

  it("is not fired by a cron that is off, and not caught up when it is on again", async () => {
    const start = Date.parse("2026-05-02T00:00Z");
    const cron = await newCron(start, { enabled: false });
    const { started, ...run } = world();
    await run.tick(start + 5 * MINUTE);
    await change(cron, { enabled: true, nextRunDate: start + 10 * MINUTE });
    await run.tick(start + 10 * MINUTE);
    await run.deliver(start + 10 * MINUTE);
    expect(started.size).toBe(1);
    await deleteCron(db, "w", cron.id);
  });

  it("after the end time is not fired", async () => {
    const start = Date.parse("2026-05-03T00:00Z");
    const cron = await newCron(start, { endTime: start + 2 * MINUTE });
    const { started, ...run } = world();
    for (let minute = 0; minute < 6; minute++) {
      await run.tick(start + minute * MINUTE);
      await run.deliver(start + minute * MINUTE);
    }
    expect(started.size).toBe(3);
    expect((await findCron(db, "w", cron.id))?.nextRunDate).toBeNull();
  });

  it("whose run cannot be started is refused, unless the fault is ours", async () => {
    const start = Date.parse("2026-05-04T00:00Z");
    const cron = await newCron(start, {}, "0 0 * * *");
    const { threads, ...run } = world();
    await run.tick(start);
    threads.fails = true;
    await expect(run.deliver(start)).rejects.toThrow("cannot be reached");
    expect(await listFirings(cron)).toMatchObject([{ state: "due", error: "the object cannot be reached" }]);
    threads.start = () => Promise.reject(new Problem(404, "The assistant of this cron is gone."));
    await run.tick(start + 2 * MINUTE);
    await run.deliver(start + 2 * MINUTE);
    const error = "The assistant of this cron is gone.";
    expect(await listFirings(cron)).toMatchObject([{ state: "refused", error }]);
    await deleteCron(db, "w", cron.id);
  });
});

describe("a firing's own thread", () => {
  it("is deleted once its run has ended", async () => {
    const start = Date.parse("2026-05-05T00:00Z");
    const cron = await newCron(start, { threadId: null, onRunCompleted: "delete" }, "0 0 * * *");
    const { threads, started, ...run } = world();
    const minute = async (n: number) => {
      await run.tick(start + n * MINUTE);
      await run.deliver(start + n * MINUTE);
    };
    await minute(0);
    await minute(2);
    expect(await listFirings(cron)).toMatchObject([{ state: "started" }]);
    threads.running.clear();
    await minute(4);
    expect(await listFirings(cron)).toMatchObject([{ state: "ended" }]);
    expect(started.size).toBe(1);
    expect(threads.removed).toHaveLength(1);
    await deleteCron(db, "w", cron.id);
  });

  it("stays when requested, also when the cron is deleted", async () => {
    const start = Date.parse("2026-05-06T00:00Z");
    const cron = await newCron(start, { threadId: null, onRunCompleted: "keep" }, "0 0 * * *");
    const { threads, ...run } = world();
    await run.tick(start);
    await run.deliver(start);
    expect(await listFirings(cron)).toMatchObject([{ state: "followed" }]);
    await deleteCron(db, "w", cron.id);
    threads.running.clear();
    await run.tick(start + 2 * MINUTE);
    await run.deliver(start + 2 * MINUTE);
    expect(await listFirings(cron)).toMatchObject([{ state: "ended" }]);
    expect(threads.removed).toEqual([]);
  });

  it.each(["delete", "keep"] as const)("is of a failed firing when its run fails (%s)", async (onRunCompleted) => {
    const start = Date.parse("2026-05-07T00:00Z");
    const cron = await newCron(start, { threadId: null, onRunCompleted }, "0 0 * * *");
    const { threads, started, ...run } = world();
    await run.tick(start);
    await run.deliver(start);
    threads.failed = new Set(started.keys());
    threads.running.clear();
    await run.tick(start + 2 * MINUTE);
    await run.deliver(start + 2 * MINUTE);
    expect(await listFirings(cron)).toMatchObject([{ state: "failed" }]);
    await deleteCron(db, "w", cron.id);
  });
});

describe("a firing whose run is open", () => {
  it("is checked less often the longer its run takes, and to its end", async () => {
    const start = Date.parse("2026-05-08T00:00Z");
    const cron = await newCron(start, { endTime: start });
    const { threads, queue, ...run } = world();
    const sent: number[] = [];
    for (let minute = 0; minute < 4 * 60; minute++) {
      await run.tick(start + minute * MINUTE);
      if (queue.some(({ cronId }) => cronId === cron.id)) sent.push(minute);
      await run.deliver(start + minute * MINUTE);
    }
    expect(sent.slice(0, 4)).toEqual([0, 1, 2, 3]);
    expect(sent.length).toBeLessThan(70);
    expect(Math.max(...sent.slice(1).map((minute, n) => minute - (sent[n] ?? 0)))).toBe(15);
    threads.running.clear();
    await run.tick(start + 5 * 60 * MINUTE);
    await run.deliver(start + 5 * 60 * MINUTE);
    expect(await listFirings(cron)).toMatchObject([{ state: "ended" }]);
    await deleteCron(db, "w", cron.id);
  });

  it("is not refused by a second delivery of its message", async () => {
    const start = Date.parse("2026-05-09T00:00Z");
    const cron = await newCron(start, { threadId: null, onRunCompleted: "delete", endTime: start });
    const { threads, queue, ...run } = world();
    await run.tick(start);
    const [firing] = queue;
    const second: CronThreads = {
      ...threads,
      async start() {
        await startFiring(db, firing!, threads, start);
        throw new Problem(404, "The assistant of this cron is deleted.");
      },
    };
    await startFiring(db, firing!, second, start);
    expect(await listFirings(cron)).toMatchObject([{ state: "started" }]);
    await deleteCron(db, "w", cron.id);
  });

  it("counts as started when its run was deleted before a second delivery of its message", async () => {
    const start = Date.parse("2026-05-09T06:00Z");
    const cron = await newCron(start, { threadId: null, onRunCompleted: "delete", endTime: start });
    const { threads, queue, ...run } = world();
    await run.tick(start);
    const [firing] = queue;
    const second: CronThreads = {
      ...threads,
      async start() {
        throw new Problem(409, "The run was deleted.", { code: "run_deleted" });
      },
    };
    await startFiring(db, firing!, second, start);
    expect(await listFirings(cron)).toMatchObject([{ state: "started" }]);
    await deleteCron(db, "w", cron.id);
  });

  it("is not taken back by a delivery that ends later than another one", async () => {
    const start = Date.parse("2026-05-09T12:00Z");
    const cron = await newCron(start, { endTime: start });
    const { threads, queue, ...run } = world();
    await run.tick(start);
    const [firing] = queue;
    const second: CronThreads = {
      ...threads,
      async start(given, ids) {
        await startFiring(db, firing!, threads, start);
        threads.running.clear();
        threads.failed.add(ids.runId);
        await startFiring(db, firing!, threads, start);
        return threads.start(given, ids);
      },
    };
    await startFiring(db, firing!, second, start);
    expect(await listFirings(cron)).toMatchObject([{ state: "failed" }]);
    await deleteCron(db, "w", cron.id);
  });

  it("reads the payload of its cron only to start the run", async () => {
    const start = Date.parse("2026-05-10T00:00Z");
    const cron = await newCron(start, { endTime: start });
    const { threads, ...run } = world();
    await run.tick(start);
    await run.deliver(start);
    const { DB, statements } = countStatements();
    await startFiring(database(DB), { workspaceId: "w", cronId: cron.id, due: start }, threads, start + MINUTE);
    expect(statements.length).toBeGreaterThan(0);
    expect(statements.filter((text) => text.includes("payload"))).toEqual([]);
    await deleteCron(db, "w", cron.id);
  });
});

/** Checkpoints in the rows of their events, and late writes with the checkpoint that continues: found, changed and removed as in rows of their own. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { Checkpoints } from "../../../src/threads/checkpoints/checkpoints.ts";
import { withoutDeferred } from "../../../src/threads/checkpoints/checkpoint.ts";
import { EventLog } from "../../../src/threads/log/event-log.ts";
import { ValueStore } from "../../../src/threads/log/values.ts";
import { Tables } from "../../../src/threads/store/tables.ts";
import { newCaller } from "../../support/caller.ts";
import { failStorage } from "../../support/failing-storage.ts";
import { generator, type Random, createRandom, SEED } from "../../support/random.ts";
import { SOAK } from "../../support/thorough.ts";
import { movePacks, rowsIn } from "../../support/thread-tables.ts";

const RUNS = ["run a", "run b", "run c"];
const toId = (n: number) => `1f0${String(n).padStart(5, "0")}`;

/** Checkpoints of an object as it wakes. */
function wake(storage: DurableObjectStorage) {
  const tables = new Tables(storage);
  const eventLog = new EventLog(
    tables,
    async () => undefined,
    () => undefined,
  );
  const checkpoints = new Checkpoints(tables, eventLog, new ValueStore(tables, eventLog));
  return { tables, eventLog, checkpoints };
}

type Woken = ReturnType<typeof wake>;

const event = (eventLog: EventLog) =>
  eventLog.append({ runId: "run", method: "updates", namespace: [], data: '{"a":1}' });

function put({ checkpoints }: Woken, ns: string, n: number, parentId: string | undefined, run = "run a"): void {
  const metadata = { source: "loop" as const, step: n, parents: {}, run_id: run };
  const checkpoint = { v: 4, id: toId(n), ts: "", channel_versions: {}, versions_seen: {} };
  checkpoints.put(
    { ns, id: toId(n), parentId, checkpoint, metadata },
    { values: { count: n }, changed: ["count"], inherited: {} },
  );
}

function write({ checkpoints }: Woken, ns: string, id: string, taskId: string, run: string, channel = "count"): void {
  const index = channel === "__interrupt__" ? -3 : channel === "__resume__" ? -4 : 0;
  const value = channel === "__interrupt__" ? [{ value: "why?", id: taskId }] : `${taskId} ${run}`;
  checkpoints.putWrites(ns, id, [{ taskId, index, channel, value, runId: run }]);
}

/** Everything that is stored, whichever rows have it. */
async function readTold({ checkpoints }: Woken): Promise<unknown[]> {
  const entries = [...checkpoints.list(undefined, {})].map((entry) => withoutDeferred(entry));
  const writes = [];
  for (const { ns, id } of entries) writes.push([ns, id, await checkpoints.writes(ns, id)]);
  const middle = entries[Math.floor(entries.length / 2)]?.id;
  return [
    entries.map(({ writes: _writes, ...entry }) => entry),
    writes,
    [...checkpoints.list("", { before: middle, limit: 3 })].map(({ id }) => id),
    ["", "a"].map((ns) => checkpoints.get(ns)?.id),
    checkpoints.interrupts(),
  ];
}

interface Known {
  ns: string;
  id: string;
}

/** One step of a thread's life: what it does depends on the numbers only. */
function step(woken: Woken, random: Random, known: Known[], n: number): void {
  const { checkpoints, eventLog } = woken;
  const ns = ["", "", "a"][random.between(0, 3)] as string;
  const own = known.filter((one) => one.ns === ns);
  const back = random.between(0, 10) === 0 ? random.between(0, own.length || 1) : 0;
  const parent = own.at(-1 - back)?.id;
  const run = RUNS[random.between(0, RUNS.length)] as string;
  const channel = ["count", "count", "__interrupt__", "__resume__"][random.between(0, 4)] as string;
  const what = random.between(0, 20);
  if (what < 6) {
    put(woken, ns, n, parent, run);
    known.push({ ns, id: toId(n) });
  } else if (what < 12 && parent) write(woken, ns, parent, `task ${random.between(0, 3)}`, run, channel);
  else if (what < 14) event(eventLog);
  else if (what < 18) eventLog.flush();
  else if (n % 40 === 0) change(woken, () => checkpoints.keepLatest(new Map()));
  else if (n % 9 === 0) change(woken, () => checkpoints.removeRun(run));
  else if (n % 5 === 0) change(woken, () => checkpoints.removeResumes(run));
  const left = new Set([...checkpoints.list(undefined, {})].map((entry) => `${entry.ns}|${entry.id}`));
  known.splice(0, known.length, ...known.filter((one) => left.has(`${one.ns}|${one.id}`)));
}

/** A change of what is stored. The end of a run makes it in the flush that writes the run's last checkpoints. */
function change({ eventLog }: Woken, work: () => void): void {
  eventLog.due(work);
  eventLog.flush();
}

describe("the rows of checkpoints", () => {
  it.each(Array.from({ length: SOAK ? 40 : 4 }, (_, i) => SEED + i))(
    "hold what rows of their own hold (seed %i)",
    async (seed) => {
      const caller = await newCaller();
      const playSteps = async (kind: "carried" | "apart") =>
        runInDurableObject(env.THREAD.getByName(`${caller.workspaceId}:${crypto.randomUUID()}`), async (_, ctx) => {
          const { storage } = ctx;
          const random = createRandom(generator(seed));
          const known: Known[] = [];
          const seen: unknown[] = [];
          let woken = wake(storage);
          for (let n = 1; n <= 240; n += 1) {
            step(woken, random, known, n);
            if (n % 20 !== 0) continue;
            woken.eventLog.flush();
            if (kind === "apart") movePacks(storage);
            if (kind === "apart" || n % 40 === 0) woken = wake(storage);
            seen.push(await readTold(woken));
          }
          return {
            seen: JSON.parse(JSON.stringify(seen)) as unknown[],
            packs: rowsIn(storage, "SELECT n FROM packs").length,
          };
        });
      const [carried, apart] = [await playSteps("carried"), await playSteps("apart")];
      expect(carried.seen).toEqual(apart.seen);
      expect(carried.packs).toBeLessThan(apart.packs);
    },
  );

  it("take one row for a step: its events, its checkpoint and the writes of the step before", async () => {
    const caller = await newCaller();
    await runInDurableObject(
      env.THREAD.getByName(`${caller.workspaceId}:${crypto.randomUUID()}`),
      async (_, { storage }) => {
        const woken = wake(storage);
        const { eventLog, tables, checkpoints } = woken;
        put(woken, "", 1, undefined);
        event(eventLog);
        eventLog.flush();
        const before = tables.rowsWritten;
        write(woken, "", toId(1), "task", "run a");
        put(woken, "", 2, toId(1));
        event(eventLog);
        eventLog.flush();
        expect(tables.rowsWritten - before).toBe(1);
        expect(await checkpoints.writes("", toId(1))).toMatchObject([{ taskId: "task" }]);
        expect(await wake(storage).checkpoints.writes("", toId(1))).toMatchObject([{ taskId: "task" }]);
      },
    );
  });

  it("are removed by a change in the flush that writes them, as a rollback is", async () => {
    const caller = await newCaller();
    await runInDurableObject(
      env.THREAD.getByName(`${caller.workspaceId}:${crypto.randomUUID()}`),
      async (_, { storage }) => {
        const woken = wake(storage);
        const { eventLog, checkpoints } = woken;
        put(woken, "", 1, undefined, "run a");
        event(eventLog);
        eventLog.flush();
        write(woken, "", toId(1), "first", "run a");
        write(woken, "", toId(1), "second", "run b");
        put(woken, "", 2, toId(1), "run b");
        put(woken, "a", 3, undefined, "run b");
        event(eventLog);
        change(woken, () => checkpoints.removeRun("run b"));
        const left = wake(storage).checkpoints;
        expect([...left.list(undefined, {})].map(({ id }) => id)).toEqual([toId(1)]);
        expect(left.get("a")).toBeUndefined();
        expect(await left.writes("", toId(1))).toMatchObject([{ taskId: "first" }]);
      },
    );
  });

  it("are written with their events or not at all, at whichever statement a flush fails", async () => {
    const caller = await newCaller();
    await runInDurableObject(
      env.THREAD.getByName(`${caller.workspaceId}:${crypto.randomUUID()}`),
      async (_, { storage }) => {
        const begun = wake(storage);
        put(begun, "", 1, undefined);
        put(begun, "a", 2, undefined);
        event(begun.eventLog);
        begun.eventLog.flush();
        const before = await readTold(wake(storage));
        const left: unknown[] = [];
        let isWritten = false;
        let failed = 0;
        for (; !isWritten; failed += 1) {
          const woken = wake(storage);
          write(woken, "", toId(1), "late", "run a");
          write(woken, "a", toId(2), "late, too", "run a");
          put(woken, "", 3, toId(1));
          put(woken, "a", 4, toId(2));
          event(woken.eventLog);
          let statement = 0;
          const end = failStorage(storage.sql, { object: () => statement++ === failed });
          try {
            woken.eventLog.flush();
            isWritten = true;
          } catch {
            // As when the process stops there.
          } finally {
            end();
          }
          if (!isWritten) left.push(await readTold(wake(storage)), rowsIn(storage, "SELECT last_seq FROM segments"));
        }
        expect(left.length).toBeGreaterThan(4);
        expect(left).toEqual(left.map((_, i) => (i % 2 === 0 ? before : [{ last_seq: 1 }])));
        const { checkpoints } = wake(storage);
        expect([...checkpoints.list(undefined, {})].map(({ id }) => id)).toEqual([4, 3, 2, 1].map(toId));
        expect(await checkpoints.writes("", toId(1))).toMatchObject([{ taskId: "late" }]);
      },
    );
  });

  it("read a part of the rows: the newest checkpoint of a long thread", async () => {
    const caller = await newCaller();
    await runInDurableObject(
      env.THREAD.getByName(`${caller.workspaceId}:${crypto.randomUUID()}`),
      async (_, { storage }) => {
        const woken = wake(storage);
        for (let n = 1; n <= 400; n += 1) {
          put(woken, "", n, n === 1 ? undefined : toId(n - 1));
          event(woken.eventLog);
          woken.eventLog.flush();
        }
        expect(rowsIn(storage, "SELECT n FROM packs")).toEqual([]);
        let read = 0;
        const { sql } = storage;
        const counted = new Proxy(sql, {
          get: (target, name) =>
            name === "exec"
              ? (text: string, ...params: never[]) => {
                  const cursor = target.exec(text, ...params);
                  const rows = cursor.toArray();
                  read += cursor.rowsRead;
                  return { toArray: () => rows, one: () => rows[0], rowsWritten: 0 };
                }
              : (Reflect.get(target, name) as unknown),
        });
        const { checkpoints } = wake(
          new Proxy(storage, {
            get: (target, name) => (name === "sql" ? counted : Reflect.get(target, name)) as unknown,
          }),
        );
        expect(checkpoints.get("")?.id).toBe(toId(400));
        expect(checkpoints.get("", toId(399))?.id).toBe(toId(399));
        expect(read).toBeLessThan(100);
        expect(checkpoints.get("", toId(3))?.id).toBe(toId(3));
        expect([...checkpoints.list("", {})]).toHaveLength(400);
      },
    );
  });
});

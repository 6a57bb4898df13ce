/** A checkpoint that is put again: it replaces the stored one, as in LangGraph's MemorySaver, and keeps its place in the thread. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type CheckpointTuple, MemorySaver } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { Saver } from "../../../src/runtime/saver.ts";
import { Checkpoints } from "../../../src/threads/checkpoints/checkpoints.ts";
import { EventLog } from "../../../src/threads/log/event-log.ts";
import { ValueStore } from "../../../src/threads/log/values.ts";
import { Tables } from "../../../src/threads/store/tables.ts";
import { newCaller } from "../../support/caller.ts";
import { createRandom, generator, SEED } from "../../support/random.ts";

const THREAD = "thread";
const toId = (n: number) => `1f0${String(n).padStart(5, "0")}`;
const at = (id?: string, ns = ""): RunnableConfig => ({
  configurable: { thread_id: THREAD, checkpoint_ns: ns, ...(id !== undefined && { checkpoint_id: id }) },
});

/** The checkpoints of an object as it wakes. */
function wake(storage: DurableObjectStorage) {
  const tables = new Tables(storage);
  const eventLog = new EventLog(
    tables,
    async () => undefined,
    () => undefined,
  );
  const checkpoints = new Checkpoints(tables, eventLog, new ValueStore(tables, eventLog));
  return { eventLog, checkpoints, saver: new Saver(checkpoints, THREAD) };
}

type Woken = ReturnType<typeof wake>;

async function inStorage(work: (storage: DurableObjectStorage) => Promise<void>): Promise<void> {
  const { workspaceId } = await newCaller();
  const stub = env.THREAD.getByName(`${workspaceId}:${crypto.randomUUID()}`);
  await runInDurableObject(stub, async (_object, state) => work(state.storage));
}

/** One step of a thread, with a channel that it writes and one that holds a list. */
function put(saver: Saver | MemorySaver, n: number, parent: number | undefined, value: unknown, ns = "") {
  const values = { count: value, list: [n, value] };
  const channel_versions = { count: n, list: n };
  const checkpoint = { v: 4, id: toId(n), ts: "", channel_values: values, channel_versions, versions_seen: {} };
  const metadata = { source: "loop" as const, step: n, parents: {} };
  return saver.put(at(parent === undefined ? undefined : toId(parent), ns), checkpoint, metadata, channel_versions);
}

const readId = (config?: RunnableConfig): unknown => config?.configurable?.checkpoint_id;

function told(tuple: CheckpointTuple | undefined) {
  return (
    tuple && {
      id: readId(tuple.config),
      parent: readId(tuple.parentConfig),
      values: tuple.checkpoint.channel_values,
      step: tuple.metadata?.step,
      writes: tuple.pendingWrites ?? [],
    }
  );
}

/** Everything that a saver shows of the thread. */
async function readTold(saver: Saver | MemorySaver, known: { n: number; ns: string }[]) {
  const listed = [];
  for (const ns of ["", "a"]) for await (const tuple of saver.list(at(undefined, ns))) listed.push(told(tuple));
  const newest = await Promise.all(["", "a"].map(async (ns) => told(await saver.getTuple(at(undefined, ns)))));
  const each = await Promise.all(known.map(async ({ n, ns }) => told(await saver.getTuple(at(toId(n), ns)))));
  return { listed, newest, each };
}

describe("a checkpoint that is put again", () => {
  it.each(Array.from({ length: 6 }, (_, i) => SEED + i))(
    "is one checkpoint, as in MemorySaver (seed %i)",
    async (seed) => {
      await inStorage(async (storage) => {
        const random = createRandom(generator(seed));
        const memory = new MemorySaver();
        let woken: Woken = wake(storage);
        const known: { n: number; ns: string; parent: number | undefined }[] = [];
        const pick = () => known[random.between(0, known.length)] as (typeof known)[number];
        for (let n = 1; n <= 60; n += 1) {
          const what = known.length === 0 ? 0 : random.between(0, 10);
          if (what < 4) {
            const ns = ["", "", "a"][random.between(0, 3)] as string;
            const parent = known.findLast((one) => one.ns === ns)?.n;
            known.push({ n, ns, parent });
            for (const saver of [memory, woken.saver]) await put(saver, n, parent, `value ${n}`, ns);
          } else if (what < 7) {
            const { n: again, ns, parent } = pick();
            for (const saver of [memory, woken.saver]) await put(saver, again, parent, `value ${n}`, ns);
          } else if (what < 9) {
            const { n: under, ns } = pick();
            const task = `task ${random.between(0, 3)}`;
            for (const saver of [memory, woken.saver])
              await saver.putWrites(at(toId(under), ns), [["count", `write ${n}`]], task);
          } else woken.eventLog.flush();
          if (random.between(0, 12) === 0) {
            woken.eventLog.flush();
            woken = wake(storage);
          }
          expect(await readTold(woken.saver, known), `seed ${seed}, step ${n}`).toEqual(await readTold(memory, known));
        }
        woken.eventLog.flush();
        expect(await readTold(wake(storage).saver, known), `seed ${seed}`).toEqual(await readTold(memory, known));
      });
    },
  );

  it.each([false, true])("keeps its parent when it is named as its own (stored before: %s)", async (isStored) => {
    await inStorage(async (storage) => {
      const woken = wake(storage);
      await put(woken.saver, 1, undefined, "one");
      await put(woken.saver, 2, 1, "two");
      await woken.saver.putWrites(at(toId(2)), [["count", "written"]], "task");
      if (isStored) woken.eventLog.flush();
      await put(woken.saver, 2, 2, "two again");
      await put(woken.saver, 3, 3, "three");
      const read = async ({ saver }: Woken) =>
        Promise.all([2, 3].map(async (n) => told(await saver.getTuple(at(toId(n))))));
      const expected = [
        {
          id: toId(2),
          parent: toId(1),
          values: { count: "two again", list: [2, "two again"] },
          step: 2,
          writes: [["task", "count", "written"]],
        },
        { id: toId(3), parent: undefined, values: { count: "three", list: [3, "three"] }, step: 3, writes: [] },
      ];
      expect(await read(woken)).toEqual(expected);
      woken.eventLog.flush();
      expect(await read(wake(storage))).toEqual(expected);
    });
  });

  it("does not make the thread show its past", async () => {
    await inStorage(async (storage) => {
      const woken = wake(storage);
      for (const ns of ["", "a"]) {
        for (const n of [1, 2, 3]) await put(woken.saver, n, n === 1 ? undefined : n - 1, n, ns);
        woken.eventLog.flush();
        await put(woken.saver, 1, undefined, "again", ns);
      }
      const newest = ({ checkpoints }: Woken) => ["", "a"].map((ns) => checkpoints.get(ns)?.id);
      expect(newest(woken)).toEqual([toId(3), toId(3)]);
      woken.eventLog.flush();
      expect(newest(wake(storage))).toEqual([toId(3), toId(3)]);
    });
  });
});

describe("what a channel is replayed from", () => {
  it("is read once for each checkpoint, also where their parents form a circle", async () => {
    await inStorage(async (storage) => {
      const { saver } = wake(storage);
      // Each names the other: the first one's parent does not exist when it is put.
      await put(saver, 1, 2, "one");
      await put(saver, 2, 1, "two");
      const histories = await saver.getDeltaChannelHistory({ config: at(toId(2)), channels: ["missing"] });
      expect(histories).toEqual({ missing: { writes: [] } });
    });
  });

  it("is what the next checkpoint has taken, and not what was written beside it", async () => {
    await inStorage(async (storage) => {
      const { saver } = wake(storage);
      const step = (n: number, parent: number | undefined, delta: number) => {
        const checkpoint = {
          v: 4,
          id: toId(n),
          ts: "",
          channel_values: {},
          channel_versions: { delta },
          versions_seen: {},
        };
        return saver.put(
          at(parent === undefined ? undefined : toId(parent)),
          checkpoint,
          { source: "loop", step: n, parents: {} },
          {},
        );
      };
      await step(1, undefined, 1);
      await saver.putWrites(at(toId(1)), [["delta", "taken"]], "task");
      await step(2, 1, 2);
      await saver.putWrites(at(toId(2)), [["delta", "left behind"]], "task");
      await step(3, 2, 2);
      const { delta } = await saver.getDeltaChannelHistory({ config: at(toId(3)), channels: ["delta"] });
      expect(delta?.writes).toEqual([["task", "delta", "taken"]]);
    });
  });
});

it("a checkpoint whose parent was deleted with its run continues from the one before, and keeps what it holds", async () => {
  await inStorage(async (storage) => {
    const woken = wake(storage);
    const step = (run: string, n: number, parent: number | undefined, values: Record<string, unknown>) => {
      const channel_versions = { kept: 1, own: n };
      const checkpoint = { v: 4, id: toId(n), ts: "", channel_values: values, channel_versions, versions_seen: {} };
      const writer = new Saver(woken.checkpoints, THREAD, { run_id: run });
      return writer.put(
        at(parent === undefined ? undefined : toId(parent)),
        checkpoint,
        { source: "loop", step: n, parents: {} },
        { own: n },
      );
    };
    await step("a", 1, undefined, { kept: "held by another graph", own: 1 });
    await step("b", 2, 1, { own: 2 });
    woken.eventLog.due(() => woken.checkpoints.removeRun("b"));
    woken.eventLog.flush();
    // Run "c" has begun on the checkpoint of run "b".
    await step("c", 3, 2, { own: 3 });
    woken.eventLog.flush();
    for (const { saver } of [woken, wake(storage)])
      expect(told(await saver.getTuple(at()))).toMatchObject({
        parent: toId(1),
        values: { kept: "held by another graph", own: 3 },
      });
  });
});

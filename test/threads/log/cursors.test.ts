/** Every cursor stays valid when token deltas are merged: also one inside of a message, in both protocols. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { METHODS } from "../../../src/protocols/a2a/follow.ts";
import { protocolFraming } from "../../../src/protocols/streaming/socket.ts";
import { selectMethods } from "../../../src/protocols/streaming/events.ts";
import { canonical, Emitter } from "../../../src/threads/log/emit.ts";
import { nextPass } from "../../../src/threads/log/compact.ts";
import { EventLog } from "../../../src/threads/log/event-log.ts";
import { asLine, type Framing, type TailQuery } from "../../../src/threads/log/events.ts";
import { tail } from "../../../src/threads/log/tail.ts";
import { ValueStore } from "../../../src/threads/log/values.ts";
import { runStream } from "../../../src/threads/runs/stream.ts";
import type { RunRecord } from "../../../src/threads/run.ts";
import { Tables } from "../../../src/threads/store/tables.ts";
import { type Random, createRandom, generator, SEED } from "../../support/random.ts";
import { chooseAmount } from "../../support/thorough.ts";
import { ALL } from "../../protocols/streaming/client.ts";
import { parseFrames } from "../client.ts";
import { assembleEvents, classicMessages, generateMessages } from "./generated-messages.ts";

type Json = Record<string, unknown>;

interface Shown {
  seq: number;
  event: string;
  data: Json;
}

/** A way to read the log: what comes after a cursor, and what a client makes of what it has got. */
interface Reader {
  name: string;
  read: (after: number) => Promise<Shown[]>;
  made: (shown: Shown[]) => unknown;
}

const run = { id: "run", request: { stream_subgraphs: true }, outcome: { first_seq: 1 } } as unknown as RunRecord;

const ofProtocol = (shown: Shown[]) =>
  assembleEvents(
    shown.map(({ data }) => {
      const { method, params } = data as { method: string; params: { namespace: string[]; node?: string; data: Json } };
      return { method, ns: params.namespace, node: params.node, data: params.data };
    }),
  );

function createReaders(tables: Tables, eventLog: EventLog, values: ValueStore): Reader[] {
  const source = { tables, eventLog, values, settled: () => true, resting: () => false, isOfDeletedRun: () => false };
  const text = async (query: TailQuery, framing: Framing) =>
    new Response(tail(source, { ...query, replayOnly: true }, framing, true)).text();
  const readFramed = async (query: TailQuery, framing: Framing) =>
    parseFrames(await text(query, framing)).map(({ id, event, data }) => ({
      seq: Number(id.split("|").at(-1)),
      event,
      data,
    }));
  const lines = (name: string, methods: TailQuery["methods"]): Reader => ({
    name,
    read: async (after) =>
      (await text({ after, methods }, asLine))
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Json)
        .map((event) => ({ seq: event.seq as number, event: String(event.method), data: event })),
    made: (shown) => ({
      ...assembleEvents(shown.map(({ data }) => data as never).filter(({ method }) => method !== "tuple")),
      ...classicMessages(
        shown
          .filter(({ event }) => event === "tuple")
          .map(({ data }) => ({ event: "messages", data: [data.data] as never })),
      ),
    }),
  });
  const protocol = (channels: string[]): Reader => ({
    name: `protocol ${channels.join()}`,
    read: async (after) =>
      readFramed({ after, methods: selectMethods(channels) }, protocolFraming({ channels }, "javascript")),
    made: ofProtocol,
  });
  const createClassicReader = (...modes: string[]): Reader => ({
    name: `classic ${modes.join()}`,
    read: async (seen) => {
      const { query, framing } = runStream(tables, run, eventLog.visible, { modes, seen });
      return readFramed(query, framing);
    },
    made: classicMessages,
  });
  return [
    protocol(ALL),
    protocol(["messages"]),
    createClassicReader("messages-tuple"),
    createClassicReader("messages-tuple", "updates", "custom"),
    createClassicReader("messages"),
    createClassicReader("messages", "messages-tuple", "custom"),
    lines("A2A", METHODS),
    lines("lines", undefined),
  ];
}

const filterUpTo = (shown: Shown[], seq: number) => shown.filter((one) => one.seq <= seq);

async function check(seed: number, storage: DurableObjectStorage): Promise<{ before: number; after: number }> {
  const random: Random = { ...createRandom(generator(seed)), seed };
  const tables = new Tables(storage);
  const eventLog = new EventLog(
    tables,
    async () => undefined,
    () => undefined,
  );
  const values = new ValueStore(tables, eventLog);
  generateMessages(new Emitter(eventLog, values, run.id), () => eventLog.flush(), random);
  eventLog.flush();
  await eventLog.settled();
  eventLog.recent.forget();
  const readers = createReaders(tables, eventLog, values);
  const stages: Shown[][][] = [await Promise.all(readers.map((reader) => reader.read(0)))];
  const whole = readers.map((reader, i) => canonical(reader.made(stages[0]?.[i] ?? [])));
  // The first pass ends inside of a message, and the second takes what is left. The third begins at the start again and
  // merges only what the end of the first kept apart, so that the fourth has nothing to merge.
  const middle = random.between(1, eventLog.visible);
  const passes = [middle, eventLog.visible, eventLog.visible, eventLog.visible];
  let through = 0;
  for (const [pass, visible] of passes.entries()) {
    const next = nextPass(tables, pass < 2 ? through : 0, visible);
    for (const row of next.rows) tables.setEvents(row);
    through = Math.max(through, next.through);
    if (pass === 3 && next.rows.length > 0) throw new Error(`Seed ${seed}: a merged log is merged again.`);
    if (next.rows.length === 0) continue;
    for (const [i, reader] of readers.entries()) {
      for (let cursor = 0; cursor <= eventLog.visible; cursor += 1) {
        const rest = await reader.read(cursor);
        for (const [stage, shown] of stages.entries()) {
          const got = filterUpTo(shown[i] ?? [], cursor);
          // A client's cursor is the number of the last event that it got.
          if (stage > 0 && cursor > 0 && got.at(-1)?.seq !== cursor) continue;
          if (canonical(reader.made([...got, ...rest])) !== whole[i])
            throw new Error(`Seed ${seed}, ${reader.name}, pass ${pass}, cursor ${cursor} of stage ${stage}.`);
        }
      }
    }
    stages.push(await Promise.all(readers.map((reader) => reader.read(0))));
  }
  return { before: stages[0]?.[1]?.length ?? 0, after: stages.at(-1)?.[1]?.length ?? 0 };
}

it("gives a reader with any cursor exactly the rest, before and after each pass", { timeout: 600_000 }, async () => {
  console.log(`cursors: SEED=${SEED}`);
  const counts = chooseAmount("LOGS", 3, 200);
  let before = 0;
  let after = 0;
  for (let i = 0; i < counts; i += 1) {
    const stub = env.THREAD.getByName(`${crypto.randomUUID()}:${crypto.randomUUID()}`);
    const sizes = await runInDurableObject(stub, (_instance, { storage }) => check(SEED + i, storage));
    before += sizes.before;
    after += sizes.after;
  }
  expect(after).toBeLessThan(before);
});

it("hands out merged texts that are longer than one reading", async () => {
  const stub = env.THREAD.getByName(`${crypto.randomUUID()}:${crypto.randomUUID()}`);
  const texts = await runInDurableObject(stub, async (_instance, { storage }) => {
    const tables = new Tables(storage);
    const eventLog = new EventLog(
      tables,
      async () => undefined,
      () => undefined,
    );
    const values = new ValueStore(tables, eventLog);
    const emitter = new Emitter(eventLog, values, run.id);
    for (let i = 0; i < 400; i += 1) {
      const node = i % 2;
      const delta = { type: "text-delta", text: `${i} `.repeat(400) };
      const event = { event: "content-block-delta", index: 0, run_id: `${node}`, delta };
      emitter.message([`node${node}:t`], `node${node}`, event);
      if (i % 10 === 0) eventLog.flush();
    }
    eventLog.flush();
    eventLog.flush();
    await eventLog.settled();
    eventLog.recent.forget();
    const reader = createReaders(tables, eventLog, values).find(({ name }) => name === "A2A") as Reader;
    const before = await reader.read(0);
    const { rows } = nextPass(tables, 0, eventLog.visible);
    for (const row of rows) tables.setEvents(row);
    const after = await reader.read(0);
    return [before, after].map((shown) => canonical(reader.made(shown)));
  });
  expect(texts[0]?.length).toBeGreaterThan(500_000);
  expect(texts[1] === texts[0]).toBe(true);
});

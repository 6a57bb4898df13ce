/** Tokens are read before they are durable, facts only after; a process that stops loses tokens and no number is given out again. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { EventLog, type TokenWrite } from "../../../src/threads/log/event-log.ts";
import { asLine } from "../../../src/threads/log/events.ts";
import { tail } from "../../../src/threads/log/tail.ts";
import { ValueStore } from "../../../src/threads/log/values.ts";
import { cursorInFrames, resumeBytes } from "../../../src/threads/stream-cursor.ts";
import { newCaller } from "../../support/caller.ts";
import { get, newThread, say, stream } from "../client.ts";
import { Tables } from "../../../src/threads/store/tables.ts";
import { rowsIn } from "../../support/thread-tables.ts";

/** A log whose writes become durable when the test says so. */
function openLog(storage: DurableObjectStorage) {
  const tables = new Tables(storage);
  let confirm = () => undefined as void;
  const log = new EventLog(
    tables,
    async () => new Promise((resolve) => (confirm = resolve)),
    () => undefined,
  );
  const append = (method: "updates" | "messages", token?: TokenWrite) =>
    log.append({ runId: "run", method, namespace: [], data: "{}", token });
  const read = async (after: number) => {
    const source = {
      tables,
      eventLog: log,
      values: new ValueStore(tables, log),
      settled: () => true,
      resting: () => false,
      isOfDeletedRun: () => false,
    };
    const bytes = tail(source, { after, replayOnly: true }, asLine, true);
    const lines = (await new Response(bytes).text()).split("\n").filter((line) => line !== "");
    return lines.map((line) => (JSON.parse(line) as { seq: number }).seq);
  };
  const confirmed = async () => {
    confirm();
    await log.settled();
  };
  return {
    log,
    read,
    confirmed,
    fact: () => append("updates"),
    token: (write: TokenWrite = "soon") => append("messages", write),
  };
}

async function runInObject(work: (storage: DurableObjectStorage) => Promise<void>): Promise<void> {
  const stub = env.THREAD.getByName(`${crypto.randomUUID()}:${crypto.randomUUID()}`);
  await runInDurableObject(stub, (_instance, { storage }) => work(storage));
}

describe("what readers see", () => {
  it("is a token at once, a fact when it is durable, and a token after a fact with the fact", async () =>
    runInObject(async (storage) => {
      const { log, read, confirmed, fact, token } = openLog(storage);
      token();
      token();
      expect(await read(0)).toEqual([1, 2]);
      fact();
      token();
      expect(await read(0)).toEqual([1, 2]);
      log.flush();
      expect(await read(0)).toEqual([1, 2]);
      token();
      await confirmed();
      expect(await read(0)).toEqual([1, 2, 3, 4, 5]);
      log.recent.forget();
      expect(await read(0)).toEqual([1, 2, 3, 4, 5]);
    }));

  it("is a token when it is durable, where the run's durability is sync", async () =>
    runInObject(async (storage) => {
      const { log, read, confirmed, token } = openLog(storage);
      token("first");
      expect(await read(0)).toEqual([]);
      log.flush();
      expect(await read(0)).toEqual([]);
      await confirmed();
      expect(await read(0)).toEqual([1]);
    }));

  it("is a token longer than others when it is durable", async () =>
    runInObject(async (storage) => {
      const { log, read } = openLog(storage);
      const data = JSON.stringify("x".repeat(100_000));
      log.append({ runId: "run", method: "messages", namespace: [], data, token: "soon" });
      expect(await read(0)).toEqual([]);
    }));
});

describe("tokens that gather", () => {
  const rows = (storage: DurableObjectStorage) => rowsIn(storage, "SELECT first_seq FROM segments").length;
  afterEach(() => vi.useRealTimers());

  it("are written within thirty seconds, as one row", async () =>
    runInObject(async (storage) => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
      const { token } = openLog(storage);
      for (let second = 0; second < 22; second += 1) {
        token();
        vi.advanceTimersByTime(1_000);
      }
      expect(rows(storage)).toBe(0);
      vi.advanceTimersByTime(8_000);
      expect(rows(storage)).toBe(1);
    }));

  it("are written at 375,000 characters", async () =>
    runInObject(async (storage) => {
      const { log } = openLog(storage);
      const data = JSON.stringify("x".repeat(20_000));
      const append = () => log.append({ runId: "run", method: "messages", namespace: [], data, token: "soon" });
      for (let n = 0; n < 18; n += 1) append();
      expect(rows(storage)).toBe(0);
      append();
      expect(rows(storage)).toBe(1);
    }));
});

describe("a run's durability", () => {
  it.each([
    ["sync", "first"],
    ["async", "soon"],
    ["exit", "late"],
    [undefined, "soon"],
  ])("%s: says when its tokens are written, and all else is a fact", async (durability, write) => {
    const caller = await newCaller();
    const append = vi.spyOn(EventLog.prototype, "append");
    const thread = await newThread(caller);
    await stream(caller, thread, { assistant_id: "agent", input: say("count to 3"), durability });
    const [run] = await get<{ run_id: string }[]>(caller, `/threads/${thread}/runs`);
    // Runs of other tests may continue in the same isolate.
    const own = append.mock.calls.filter(([{ runId }]) => runId === run?.run_id);
    const appended = own.map(([{ method, data, token }]) => ({ method, data, token }));
    append.mockRestore();
    expect(appended.length).toBeGreaterThan(0);
    const isToken = ({ method, data }: { method: string; data: string }) =>
      method === "tuple" || (method === "messages" && data.includes('"content-block-delta"'));
    const [tokens, facts] = [appended.filter(isToken), appended.filter((event) => !isToken(event))];
    expect(new Set(tokens.map(({ token }) => token))).toEqual(new Set([write]));
    expect(new Set(facts.map(({ token }) => token))).toEqual(new Set([undefined]));
  });
});

describe("after the process has stopped", () => {
  it("later numbers are past those that a reader may have seen, and its cursor stays valid", async () =>
    runInObject(async (storage) => {
      const before = openLog(storage);
      before.fact();
      before.log.flush();
      await before.confirmed();
      for (let i = 0; i < 10; i += 1) before.token();
      expect(await before.read(0)).toHaveLength(11);

      const { log, read, confirmed, fact, token } = openLog(storage);
      log.skipUnwritten();
      expect([log.has(1), log.has(11)]).toEqual([true, false]);
      expect(await read(11)).toEqual([]);
      fact();
      log.flush();
      await confirmed();
      token();
      const next = 100_003;
      expect(await read(11)).toEqual([next - 1, next]);
      expect(await read(0)).toEqual([1, next - 1, next]);
      log.recent.forget();
      expect(await read(11)).toEqual([next - 1, next]);
      expect(await read(1)).toEqual([next - 1, next]);
      expect([log.has(next), log.has(next + 1)]).toEqual([true, false]);
    }));

  it("a log without a crash continues its numbers", async () =>
    runInObject(async (storage) => {
      const before = openLog(storage);
      before.fact();
      before.log.flush();
      const { fact } = openLog(storage);
      expect(fact()).toBe(2);
    }));
});

const encoder = new TextEncoder();
const frame = (seq: number, text: string) => `event: messages\ndata: ${text}\nid: ${seq}\n\n`;

/** A stream of these texts that the end of its object cuts. */
function streamAndCut(...texts: string[]): ReadableStream<Uint8Array> {
  const left = texts.map((text) => encoder.encode(text));
  return new ReadableStream({
    pull(controller) {
      const next = left.shift();
      if (next) controller.enqueue(next);
      else controller.error(Object.assign(new Error("cut"), { durableObjectReset: true }));
    },
  });
}

/** What a client reads when the log then has only events after which `open` gives these. */
async function readOn(first: ReadableStream<Uint8Array>, kept: number[], again: (after?: number) => string) {
  const open = async (after?: number) => new Blob([again(after)]).stream();
  return new Response(resumeBytes(first, cursorInFrames({ open, has: async (seq) => kept.includes(seq) }))).text();
}

describe("a stream that is cut", () => {
  const log = [1, 2, 3, 4].map((seq) => frame(seq, `kept ${seq}`));
  const readAfter = (seq = 0) => log.slice(seq).join("");

  it("continues after the last event, in the middle of which it was cut", async () => {
    const cut = streamAndCut(`${log[0]}${log[1]}`, (log[2] ?? "").slice(0, 20));
    expect(await readOn(cut, [1, 2, 3, 4], readAfter)).toBe(log.join(""));
  });

  it("continues in an event of several frames", async () => {
    const two = [frame(2, "a"), frame(2, "b")];
    const cut = streamAndCut(`${log[0]}${two[0]}`);
    const readAgain = (seq = 0) => (seq >= 2 ? readAfter(2) : `${two.join("")}${readAfter(2)}`);
    expect(await readOn(cut, [1, 2, 3, 4], readAgain)).toBe(`${log[0]}${two.join("")}${readAfter(2)}`);
  });

  it("leaves nothing out of the next attempt when tokens were lost", async () => {
    const next = frame(100_002, "next attempt");
    const cut = streamAndCut(`${log[0]}${frame(2, "lost")}`, frame(3, "lost, too"), frame(4, "half").slice(0, 25));
    const asked: (number | undefined)[] = [];
    const readAgain = (seq?: number) => {
      asked.push(seq);
      return next;
    };
    expect(await readOn(cut, [1], readAgain)).toBe(`${log[0]}${frame(2, "lost")}${frame(3, "lost, too")}${next}`);
    expect(asked).toEqual([3]);
  });

  it("continues in a frame of megabytes", async () => {
    const long = frame(2, "x".repeat(3_000_000));
    const cut = streamAndCut(log[0] ?? "", long.slice(0, 1_500_000), long.slice(1_500_000, 2_000_000));
    const readAgain = (seq = 0) => (seq >= 2 ? "" : seq === 1 ? long : `${log[0]}${long}`);
    expect((await readOn(cut, [1, 2], readAgain)) === `${log[0]}${long}`).toBe(true);
  });
});

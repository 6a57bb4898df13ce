/** Streams that continue where they were cut, and when that is given up. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { sseResponse } from "../../src/http/sse.ts";
import { type StreamCursor, resumeBytes, WholeLines } from "../../src/threads/stream-cursor.ts";
import type { EventLog } from "../../src/threads/log/event-log.ts";
import { asLine } from "../../src/threads/log/events.ts";
import { tail } from "../../src/threads/log/tail.ts";
import type { ValueStore } from "../../src/threads/log/values.ts";
import type { Tables } from "../../src/threads/store/tables.ts";
import { seeded } from "../support/random.ts";

afterEach(() => vi.useRealTimers());

/** Time that passes only when the test says so. Not what the threads of other tests in this isolate use. */
const useFakeTime = () =>
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"] });

const encoder = new TextEncoder();
const cut = () => Object.assign(new Error("any"), { retryable: true });

/** Brings the texts, waits, and is cut. */
function streamAndCut(texts: string[], ms = 0): ReadableStream<Uint8Array> {
  const left = [...texts];
  return new ReadableStream({
    async pull(controller) {
      const text = left.shift();
      if (text !== undefined) return controller.enqueue(encoder.encode(text));
      if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
      controller.error(cut());
    },
  });
}

const placeWith = (open: StreamCursor["open"]): StreamCursor => ({ open, take: (chunk) => [chunk] });

/** What the stream comes to, while `ms` pass. */
async function outcome(stream: ReadableStream<Uint8Array>, ms: number): Promise<string> {
  const text = new Response(stream).text().catch((error: unknown) => `failed: ${String(error)}`);
  await vi.advanceTimersByTimeAsync(ms);
  return Promise.race([text, Promise.resolve().then(() => "still open")]);
}

describe("a stream that is cut", () => {
  it("fails once no byte has come for 30 seconds", async () => {
    useFakeTime();
    let opened = 0;
    const place = placeWith(async () => {
      opened += 1;
      throw cut();
    });
    const stream = resumeBytes(streamAndCut(["a"]), place);
    const text = new Response(stream).text().catch(String);
    await vi.advanceTimersByTimeAsync(29_000);
    const early = opened;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await text).toBe("Error: any");
    // The pauses grow to 5 seconds.
    expect(early).toBeGreaterThan(8);
    expect(opened).toBeLessThan(25);
  });

  it("continues for as long as bytes come", async () => {
    useFakeTime();
    let left = 40;
    const place = placeWith(async () => ((left -= 1) === 0 ? new Blob(["end"]).stream() : streamAndCut(["b"], 5_000)));
    expect(await outcome(resumeBytes(streamAndCut(["a"], 5_000), place), 300_000)).toBe(`a${"b".repeat(39)}end`);
  });

  it("continues after a long silence in which it was open", async () => {
    useFakeTime();
    let left = 4;
    const place = placeWith(async () => ((left -= 1) === 0 ? new Blob(["end"]).stream() : streamAndCut([], 40_000)));
    expect(await outcome(resumeBytes(streamAndCut([], 40_000), place), 300_000)).toBe("end");
  });

  it("fails at once with an error that is no restart", async () => {
    const place = placeWith(async () => {
      throw new Error("a fault");
    });
    await expect(new Response(resumeBytes(streamAndCut(["a"]), place)).text()).rejects.toThrow("a fault");
  });
});

function decode(chunks: Uint8Array[]): string {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  return chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
}

it("lines that are cut at any byte come whole and once", () => {
  const random = seeded("cut lines");
  const lines = Array.from({ length: 200 }, (_, i) => `${i} ${"ü🌊x".repeat(random.between(0, 40))}\n`);
  const bytes = encoder.encode(lines.join(""));
  const whole = new WholeLines();
  let text = "";
  let last = "";
  let restarts = 0;
  for (let at = 0; at < bytes.length;) {
    if (random.next() < 0.1) {
      // The reader is behind the last whole line: from there it comes again.
      whole.restart();
      at = encoder.encode(text).length;
      restarts += 1;
    }
    const next = at + random.between(1, 300);
    const passed = whole.take(bytes.subarray(at, next));
    at = next;
    if (!passed) continue;
    text += decode(passed.lines);
    last = decode(passed.last);
    expect(last).toBe(lines[Number.parseInt(last, 10)]);
  }
  expect(restarts).toBeGreaterThan(5);
  expect(text).toBe(lines.join(""));
});

it("an SSE answer whose frames fail is cut, and sends no more heartbeats", async () => {
  useFakeTime();
  async function* frames() {
    yield "data: 1\n\n";
    throw new Error("over");
  }
  await expect(sseResponse(frames()).text()).rejects.toThrow("over");
  expect(vi.getTimerCount()).toBe(0);
});

describe("a stream on which nothing happens", () => {
  it("writes a byte every 15 seconds, so that the object notices when its reader has disconnected", async () => {
    useFakeTime();
    const eventLog = {
      visible: 0,
      stored: 0,
      follow: () => () => undefined,
      inMemory: () => [],
    } as unknown as EventLog;
    const of = { tables: {} as Tables, values: {} as ValueStore, settled: () => false };
    const open = (resting: boolean) =>
      tail({ ...of, eventLog, resting: () => resting, isOfDeletedRun: () => false }, { after: 0 }, asLine);
    const reader = open(false).getReader();
    const first = reader.read();
    await vi.advanceTimersByTimeAsync(15_000);
    expect((await first).value).toEqual(Uint8Array.of(0));
    await reader.cancel();
    // Without a run in progress the stream ends instead.
    const text = new Response(open(true)).text();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await text).toBe("\u{1}0");
  });

  it("shows its reader none of these bytes", async () => {
    const place = placeWith(async () => undefined);
    const chunks = ["\0", "a\0", "b", "\0"].map((text) => encoder.encode(text));
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const chunk = chunks.shift();
        if (chunk) controller.enqueue(chunk);
        else controller.close();
      },
    });
    const seen: string[] = [];
    for await (const chunk of resumeBytes(stream, place)) seen.push(new TextDecoder().decode(chunk));
    expect(seen).toEqual(["a", "b"]);
  });
});

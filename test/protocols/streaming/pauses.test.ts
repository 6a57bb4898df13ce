/** In which order the connections of one thread show a pause to the Python SDK. */
import { expect, it } from "vitest";
import { markPauses, Pauses } from "../../../src/protocols/streaming/python.ts";
import type { EventMethod, EventText } from "../../../src/threads/log/events.ts";

const WATCHER = ["lifecycle", "input"];
const PROJECTIONS = ["messages", "lifecycle"];

const event = (seq: number, method: EventMethod, data: object, ns: string[] = []): EventText => ({
  seq,
  ts: 0,
  run: "r",
  method,
  ns,
  text: () => JSON.stringify(data),
});
const SAID = event(1, "messages", {});
const ASKED = event(2, "input.requested", { interrupt_id: "q" });
const CHILD = event(3, "lifecycle", { event: "interrupted" }, ["ask:1"]);
const PAUSED = event(4, "lifecycle", { event: "interrupted", reason: "input" });

/** A connection whose events the test sends. What it shows is added to `shown`. */
function connect(pauses: Pauses, name: string, channels: string[], shown: string[]) {
  let source: ReadableStreamDefaultController<Uint8Array> | undefined;
  const frames = new ReadableStream<Uint8Array>({ start: (controller) => void (source = controller) });
  const framing = markPauses(({ seq }) => `${name}${seq} `, channels);
  const reader = pauses.ordered(frames, channels, 0).getReader();
  const decoder = new TextDecoder();
  const read = async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      shown.push(...decoder.decode(value).split(" ").filter(Boolean));
    }
  };
  const ended = read();
  return {
    send: (...events: EventText[]) => source?.enqueue(new TextEncoder().encode(events.map(framing).join(""))),
    leave: () => reader.cancel(),
    end: async () => {
      source?.close();
      await ended;
    },
  };
}

it("the question comes after what other connections show before the pause, and before their end", async () => {
  const shown: string[] = [];
  const pauses = new Pauses(async () => PAUSED.seq);
  const watcher = connect(pauses, "w", WATCHER, shown);
  const slow = connect(pauses, "p", PROJECTIONS, shown);
  watcher.send(ASKED, CHILD, PAUSED);
  await scheduler.wait(300);
  expect(shown).toEqual([]);
  slow.send(SAID, PAUSED);
  await Promise.all([watcher.end(), slow.end()]);
  expect(shown).toEqual(["p1", "w2", "w3", "w4", "p4"]);
});

it("a connection at a pause waits for a watcher that is on its way", async () => {
  const shown: string[] = [];
  const pauses = new Pauses(async () => PAUSED.seq);
  const early = connect(pauses, "p", PROJECTIONS, shown);
  early.send(SAID, PAUSED);
  await scheduler.wait(80);
  const watcher = connect(pauses, "w", WATCHER, shown);
  watcher.send(ASKED, CHILD, PAUSED);
  await Promise.all([watcher.end(), early.end()]);
  expect(shown).toEqual(["p1", "w2", "w3", "w4", "p4"]);
});

it("a question waits until its run has paused", async () => {
  const shown: string[] = [];
  const watcher = connect(new Pauses(async () => PAUSED.seq), "w", WATCHER, shown);
  watcher.send(ASKED, CHILD);
  await scheduler.wait(300);
  expect(shown).toEqual([]);
  watcher.send(PAUSED);
  await watcher.end();
  expect(shown).toEqual(["w2", "w3", "w4"]);
});

it("a pause that a run has followed is shown at once, and a connection that has left is not waited for", async () => {
  const shown: string[] = [];
  const pauses = new Pauses(async () => 9);
  const watcher = connect(pauses, "w", WATCHER, shown);
  connect(pauses, "p", PROJECTIONS, shown);
  watcher.send(ASKED, CHILD, PAUSED);
  await watcher.end();
  expect(shown).toEqual(["w2", "w3", "w4"]);

  const later = new Pauses(async () => PAUSED.seq);
  const left = connect(later, "p", PROJECTIONS, shown);
  await left.leave();
  const alone = connect(later, "w", WATCHER, shown);
  alone.send(ASKED, CHILD, PAUSED);
  await alone.end();
  expect(shown.slice(3)).toEqual(["w2", "w3", "w4"]);
});

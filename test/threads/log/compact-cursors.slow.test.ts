/** A reader inside of a message, over HTTP: the alarm merges the token deltas, and the reader gets exactly the rest. */
import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { expect, it } from "vitest";
import { graphs } from "../../../src/deployment.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ALL, command, type Event, human, read } from "../../protocols/streaming/client.ts";
import { type Frame, parseFrames } from "../client.ts";
import { assembleEvents, classicMessages } from "./generated-messages.ts";
import { changeRecord, recordIn, rowsIn } from "../../support/thread-tables.ts";

const State = new StateSchema({ messages: MessagesValue });
const writer = (text: string) => async (): Promise<{ messages: BaseMessage[] }> => {
  const chunks: AIMessageChunk[] = [];
  const model = new FakeListChatModel({ responses: [text], sleep: 1 });
  for await (const chunk of await model.stream("Say it.")) chunks.push(chunk);
  return { messages: [chunks.reduce((sum, chunk) => sum.concat(chunk))] };
};
/** One node answers, then two at the same time. Each character is a token. */
graphs.writers = new StateGraph(State)
  .addNode("alone", writer("The tide goes out at noon. ".repeat(6)))
  .addNode("left", writer("Left says this, and a little more."))
  .addNode("right", writer("Right says that."))
  .addEdge(START, "alone")
  .addEdge("alone", "left")
  .addEdge("alone", "right")
  .compile();

const getStub = (caller: Caller, thread: string) => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);

/** Bytes of the thread's events and their metadata. */
async function countStoredEvents(caller: Caller, thread: string): Promise<number> {
  return runInDurableObject(
    getStub(caller, thread),
    (_thread, { storage }) =>
      rowsIn<{ n: number }>(
        storage,
        "SELECT sum(length(CAST(events AS BLOB)) + length(CAST(metas AS BLOB))) n FROM segments",
      )[0]?.n ?? 0,
  );
}

/** Lets the ten minutes pass, and the alarm come. */
async function compactByAlarm(caller: Caller, thread: string): Promise<void> {
  await runInDurableObject(getStub(caller, thread), (_thread, { storage }) => {
    const { compacted } = recordIn<{ compacted: object }>(storage);
    changeRecord(storage, { compacted: { ...compacted, due: 1 } });
  });
  await abortAllDurableObjects();
  await runDurableObjectAlarm(getStub(caller, thread));
}

async function writers() {
  const caller = await newCaller();
  const thread = crypto.randomUUID();
  const { result } = await command(caller, thread, "run.start", { assistant_id: "writers", input: human("Write.") });
  const before = await read(caller, thread);
  const modes = {
    "messages-tuple": ["messages-tuple"],
    both: ["messages", "messages-tuple", "values"],
    messages: ["messages"],
  };
  const readClassic = async (names: string[], after = -1): Promise<Frame[]> => {
    const query = names.map((mode) => `stream_mode=${mode}`).join("&");
    const path = `/threads/${thread}/runs/${String(result.run_id)}/stream?${query}`;
    return parseFrames(await (await caller.fetch(path, { headers: { "last-event-id": String(after) } })).text());
  };
  return { caller, thread, before, readClassic, modes };
}

const ofProtocol = (events: Event[]) =>
  assembleEvents(events.map(({ method, params: { namespace: ns, node, data } }) => ({ method, ns, node, data })));

it("resumes both protocols inside of a message that the alarm has merged", { timeout: 60_000 }, async () => {
  const { caller, thread, before, readClassic, modes } = await writers();
  const classicBefore = new Map<string, Frame[]>();
  for (const [name, list] of Object.entries(modes)) classicBefore.set(name, await readClassic(list));
  const bytes = await countStoredEvents(caller, thread);
  await compactByAlarm(caller, thread);
  const bytesAfter = await countStoredEvents(caller, thread);
  console.log(`compaction: ${bytes} bytes of events, then ${bytesAfter}`);
  // The chunks of two messages alternate, and are merged.
  expect(bytesAfter).toBeLessThan(bytes / 6);

  const last = before.at(-1)?.seq ?? 0;
  for (let cursor = 0; cursor < last; cursor += 29) {
    const had = before.filter(({ seq }) => seq <= cursor);
    const expected = ofProtocol(before);
    expect(ofProtocol([...had, ...(await read(caller, thread, { channels: ALL, since: cursor }))])).toEqual(expected);
    const headers = { "last-event-id": String(cursor) };
    const rest = await read(caller, thread, { channels: ALL }, { headers });
    expect(ofProtocol([...had, ...rest])).toEqual(expected);
    for (const [name, list] of Object.entries(modes)) {
      const whole = classicBefore.get(name) ?? [];
      const got = whole.filter(({ id }) => Number(id) <= cursor);
      expect(classicMessages([...got, ...(await readClassic(list, cursor))]), `${name} after ${cursor}`).toEqual(
        classicMessages(whole),
      );
    }
  }
});

it("gives a reader of the merged log every text once, after any event", { timeout: 60_000 }, async () => {
  const { caller, thread, before } = await writers();
  await compactByAlarm(caller, thread);
  const merged = await read(caller, thread, { channels: ALL });
  expect(merged.length).toBeLessThan(before.length);
  for (const [i, { event_id }] of merged.entries()) {
    if (i === merged.length - 1) break;
    if (i % 5 > 0) continue;
    const rest = await read(caller, thread, { channels: ALL, since_event_id: event_id });
    expect(ofProtocol([...merged.slice(0, i + 1), ...rest])).toEqual(ofProtocol(before));
  }
});

it("keeps what compaction saves of a message of 480 tokens", async () => {
  const caller = await newCaller();
  const thread = crypto.randomUUID();
  graphs.long = new StateGraph(State)
    .addNode("alone", writer("Tokens ".repeat(70).slice(0, 480)))
    .addEdge(START, "alone")
    .compile();
  await command(caller, thread, "run.start", { assistant_id: "long", input: human("Write.") });
  await read(caller, thread);
  const bytes = await countStoredEvents(caller, thread);
  await compactByAlarm(caller, thread);
  const after = await countStoredEvents(caller, thread);
  console.log(`480 tokens: ${bytes} bytes of events, then ${after}`);
  expect(after).toBeLessThan(bytes / 10);
});

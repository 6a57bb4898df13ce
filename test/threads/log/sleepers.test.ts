/** Streams over SSE while no run is in progress: they leave nothing open in the thread's object, and miss nothing. */
import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import type { Thread } from "../../../src/index.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { POLL_MS } from "../../support/thorough.ts";
import { newThread, parseFrames, say } from "../client.ts";
import { changeRow, rowsIn } from "../../support/thread-tables.ts";

const HOUR = 3_600;
const getStub = ({ workspaceId }: Caller, thread: string) => env.THREAD.getByName(`${workspaceId}:${thread}`);
const readFigures = async (caller: Caller, thread: string) =>
  runInDurableObject(getStub(caller, thread), (object: Thread) => object.figures());
// `expect.poll` needs the test that it is in, which tests at the same time do not know.
const pollFigures = (caller: Caller, thread: string, figures: object) =>
  vi.waitFor(async () => expect(await readFigures(caller, thread)).toMatchObject(figures), POLL_MS);
const wait = async (caller: Caller, thread: string) =>
  (await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: "echo", input: say("hi") } })).json();

/** Reads in the background what a stream brings, without its heartbeats. */
function gather(response: Response): { text: () => string; ended: () => boolean; leave: () => Promise<void> } {
  let text = "";
  let ended = false;
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  void (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
    ended = true;
  })().catch(() => undefined);
  return {
    text: () => text.replaceAll(": heartbeat\n\n", ""),
    ended: () => ended,
    leave: async () => reader.cancel(),
  };
}

const CLASSIC = "/stream?stream_modes=run_modes&stream_modes=lifecycle";
const OPEN: Record<string, (caller: Caller, thread: string) => Promise<Response>> = {
  "GET /threads/{id}/stream": async (caller, thread) =>
    caller.fetch(`/threads/${thread}${CLASSIC}`, { headers: { "last-event-id": "0" } }),
  "POST /threads/{id}/stream/events": async (caller, thread) =>
    caller.fetch(`/threads/${thread}/stream/events`, {
      body: { channels: ["lifecycle", "values", "messages"], since: 0 },
    }),
  "POST /threads/{id}/stream/events, Python SDK": async (caller, thread) =>
    caller.fetch(`/threads/${thread}/stream/events`, {
      body: { channels: ["lifecycle", "values", "messages"], since: 0 },
      headers: { "user-agent": "langgraph-sdk-py/0.4.5" },
    }),
  "a stream that shows nothing of these runs": async (caller, thread) =>
    caller.fetch(`/threads/${thread}/stream/events`, { body: { channels: ["custom"] } }),
};

it.concurrent.each(Object.keys(OPEN))(
  "%s: sleeps between runs, and misses nothing when its object hibernates",
  async (name) => {
    const open = OPEN[name] as (typeof OPEN)[string];
    const caller = await newCaller();
    const thread = await newThread(caller);
    const streams = [gather(await open(caller, thread)), gather(await open(caller, thread))];
    for (let run = 0; run < 3; run += 1) {
      await pollFigures(caller, thread, { streams: 2, sockets: 0, asleep: 2 });
      await evictDurableObject(getStub(caller, thread));
      await wait(caller, thread);
    }
    await pollFigures(caller, thread, { asleep: 2 });
    const replay = gather(await open(caller, thread));
    await pollFigures(caller, thread, { asleep: 3 });
    expect(parseFrames(replay.text()).length > 0).toBe(name !== "a stream that shows nothing of these runs");
    for (const stream of streams) expect(stream.text()).toBe(replay.text());
    for (const stream of [...streams, replay]) await stream.leave();
    await pollFigures(caller, thread, { streams: 0, asleep: 0 });
  },
);

it.concurrent("a stream that sleeps ends when its thread is deleted", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const stream = gather(await caller.fetch(`/threads/${thread}${CLASSIC}`));
  await pollFigures(caller, thread, { asleep: 1 });
  await evictDurableObject(getStub(caller, thread));
  await caller.fetch(`/threads/${thread}`, { method: "DELETE" });
  await vi.waitFor(() => expect(stream.ended()).toBe(true), POLL_MS);
});

it.concurrent("the stream and the result of a run that waits for its time sleep until then", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const body = { assistant_id: "echo", input: say("late"), after_seconds: HOUR };
  const { run_id } = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
  const stream = gather(await caller.fetch(`/threads/${thread}/runs/${run_id}/stream`));
  const result = caller.fetch(`/threads/${thread}/runs/${run_id}/join`);
  await pollFigures(caller, thread, { asleep: 2 });
  await evictDurableObject(getStub(caller, thread));
  await runInDurableObject(getStub(caller, thread), (_, { storage }) => {
    const [row] = rowsIn<{ request: string }>(storage, "SELECT request FROM runs");
    const request = JSON.stringify({ ...(JSON.parse(row?.request ?? "") as object), after_seconds: 0 });
    changeRow(storage, "runs", { run_id }, { request });
  });
  await evictDurableObject(getStub(caller, thread));
  await runDurableObjectAlarm(getStub(caller, thread));
  await vi.waitFor(() => expect(stream.ended()).toBe(true), POLL_MS);
  expect(parseFrames(stream.text()).at(-1)).toMatchObject({ event: "values" });
  expect(await (await result).json()).toMatchObject({ messages: [{ content: "late" }, { content: "You said: late" }] });
  await pollFigures(caller, thread, { streams: 0, asleep: 0 });
});

it.concurrent("a run that ends when its client leaves also ends while its stream sleeps", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const body = { assistant_id: "echo", input: say("late"), after_seconds: HOUR, on_disconnect: "cancel" };
  const stream = gather(await caller.fetch(`/threads/${thread}/runs/stream`, { body }));
  await pollFigures(caller, thread, { streams: 1, asleep: 1 });
  await stream.leave();
  const status = async () =>
    (await (await caller.fetch(`/threads/${thread}/runs`)).json<{ status: string }[]>()).map((run) => run.status);
  await vi.waitFor(async () => expect(await status()).toEqual(["interrupted"]), POLL_MS);
});

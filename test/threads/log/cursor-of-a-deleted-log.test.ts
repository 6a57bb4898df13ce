/** A cursor beyond the end of the log is one of a deleted thread: every stream begins again. */
import { env } from "cloudflare:workers";
import { beforeAll, expect, it } from "vitest";
import { threadStub } from "../../../src/threads/remote.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { sseEvents } from "../../support/sse.ts";
import { newThread, parseFrames, say, stream } from "../client.ts";

let caller: Caller;
let thread: string;
let run: string;

beforeAll(async () => {
  caller = await newCaller();
  thread = await newThread(caller);
  const frames = await stream(caller, thread, { assistant_id: "agent", input: say("one"), stream_mode: "messages" });
  run = String(frames[0]?.data.run_id);
});

it("begins a run's stream again", async () => {
  const read = async (cursor: string) => {
    const headers = { "last-event-id": cursor };
    return (await caller.fetch(`/threads/${thread}/runs/${run}/stream`, { headers })).text();
  };
  const whole = await read("-1");
  expect(parseFrames(whole).length).toBeGreaterThan(2);
  expect(await read("1000000")).toBe(whole);
});

it("begins the thread's stream again", async () => {
  const readFirst = async (cursor: string) => {
    const headers = { "last-event-id": cursor };
    const response = await caller.fetch(`/threads/${thread}/stream?stream_modes=run_modes`, { headers });
    return (await sseEvents(response).next()).value;
  };
  const begin = await readFirst("0");
  expect(begin?.event).toBe("metadata");
  expect(await readFirst("1000000")).toEqual(begin);
});

it("shows messages so far in the thread's stream, also to a reader who joins inside of one", async () => {
  const stub = threadStub(env, caller.workspaceId, thread);
  const read = async (after: number) => {
    const texts: string[] = [];
    for await (const { event, data } of sseEvents(new Response(await stub.streamThread(["run_modes"], after)))) {
      if (event === "messages/partial") texts.push(String((data as { content: string }[])[0]?.content));
      if (event === "metadata" && (data as { status?: string }).status === "run_done") break;
    }
    return texts;
  };
  const whole = await read(0);
  expect(whole.length).toBeGreaterThan(5);
  const last = await stub.lastSeq();
  for (let after = 1; after < last - 3; after += 7) {
    const rest = await read(after);
    expect(rest).toEqual(whole.slice(whole.length - rest.length));
  }
});

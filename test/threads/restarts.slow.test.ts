/** Clients of a thread whose object restarts at random moments: they see no failure, no cut and nothing twice. */
import { abortAllDurableObjects } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { abortsDuring } from "../support/aborts.ts";
import { expectKept, numberFrames } from "../support/live-tokens.ts";
import { type Caller, newCaller } from "../support/caller.ts";
import { seeded } from "../support/random.ts";
import { sseEvents } from "../support/sse.ts";
import { type Frame, get, newThread, parseFrames, say, stream } from "./client.ts";

const ROUNDS = 6;
const COUNT = 40;
const COUNTED = Array.from({ length: COUNT }, (_, i) => i + 1).join(" ");
const random = seeded("restarts under clients");
const body = { assistant_id: "agent", input: say(`count to ${COUNT}`), stream_mode: ["messages-tuple", "values"] };

interface Values {
  messages: { type: string; content: string }[];
}

const listSaid = ({ messages }: Values) => messages.map(({ content }) => content);

/** The thread has made one run of the request, and it has succeeded. */
async function expectOneRun(caller: Caller, thread: string) {
  const runs = await get<{ run_id: string; status: string }[]>(caller, `/threads/${thread}/runs`);
  expect(runs).toMatchObject([{ status: "success" }]);
  return runs[0]?.run_id ?? "";
}

async function readFrames(response: Promise<Response>): Promise<Frame[]> {
  const answer = await response;
  expect(answer.status).toBe(200);
  return parseFrames(await answer.text());
}

describe("waiting", () => {
  it("for a run that is made brings its result, and makes one run", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const caller = await newCaller();
      const thread = await newThread(caller);
      const waiting = caller.fetch(`/threads/${thread}/runs/wait`, { body });
      const values = await abortsDuring(
        random,
        waiting.then((response) => response.json<Values>()),
      );
      expect(listSaid(values)).toEqual([`count to ${COUNT}`, COUNTED]);
      await expectOneRun(caller, thread);
    }
  });

  it("for a stateless run does as well", async () => {
    const caller = await newCaller();
    const waiting = caller.fetch("/runs/wait", { body });
    const values = await abortsDuring(
      random,
      waiting.then((response) => response.json<Values>()),
    );
    expect(listSaid(values)).toEqual([`count to ${COUNT}`, COUNTED]);
  });

  it("for a run that was made before does as well", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const run = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    const joining = caller.fetch(`/threads/${thread}/runs/${run.run_id}/join`);
    const values = await abortsDuring(
      random,
      joining.then((response) => response.json<Values>()),
    );
    expect(listSaid(values)).toEqual([`count to ${COUNT}`, COUNTED]);
  });

  it("brings a long result whole when the restart falls into it", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const long = "ü🌊".repeat(1_000_000);
    const input = { messages: [{ role: "user", content: long }] };
    const response = await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: "echo", input } });
    const parts: Uint8Array[] = [];
    for await (const part of response.body ?? []) {
      if (parts.length === 5 || parts.length === 20) await abortAllDurableObjects();
      parts.push(part as Uint8Array);
    }
    expect(parts.length).toBeGreaterThan(20);
    const values = await new Response(new Blob(parts)).json<Values>();
    expect(listSaid(values)[0] === long).toBe(true);
    expect(values.messages).toHaveLength(2);
  });
});

describe("streams", () => {
  it("of a run that is made continue, and bring what a later reader gets", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const caller = await newCaller();
      const thread = await newThread(caller);
      const frames = await abortsDuring(random, readFrames(caller.fetch(`/threads/${thread}/runs/stream`, { body })));
      const ids = frames.map(({ id }) => Number(id));
      expect(ids).toEqual(ids.toSorted((a, b) => a - b));
      const run = await expectOneRun(caller, thread);
      expectKept(
        numberFrames(frames),
        numberFrames(await readFrames(caller.fetch(`/threads/${thread}/runs/${run}/stream`))),
      );
      expect(listSaid(frames.at(-1)?.data as unknown as Values).at(-1)).toBe(COUNTED);
    }
  });

  it("of a run that was made before continue", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    // The run is not the thread's first one.
    await stream(caller, thread, { assistant_id: "echo", input: say("hi") });
    const run = await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>();
    const path = `/threads/${thread}/runs/${run.run_id}/stream`;
    const frames = await abortsDuring(random, readFrames(caller.fetch(path)));
    const kept = await readFrames(caller.fetch(path));
    expectKept(numberFrames(frames), numberFrames(kept));
    const headers = { "last-event-id": String(kept[3]?.id) };
    const rest = await abortsDuring(random, readFrames(caller.fetch(path, { headers })), 1, 5);
    expect(rest).toEqual(kept.slice(4));
  });

  it("of a thread continue", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const path = `/threads/${thread}/stream?stream_modes=run_modes&stream_modes=lifecycle`;
    const read = async (headers?: Record<string, string>) => {
      const events = [];
      for await (const event of sseEvents(await caller.fetch(path, { headers }))) {
        events.push(event);
        if (event.event === "metadata" && (event.data as { status?: string }).status === "run_done") break;
      }
      return events;
    };
    const reading = read();
    await caller.fetch(`/threads/${thread}/runs`, { body });
    const live = await abortsDuring(random, reading);
    expectKept(numberFrames(live), numberFrames(await read({ "last-event-id": "0" })));
  });

  it("of a history continue", async () => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    for (let i = 0; i < 6; i++)
      await stream(caller, thread, { assistant_id: "echo", input: say(`${i} ${"x".repeat(200_000)}`) });
    const path = `/threads/${thread}/history?limit=15`;
    const response = await caller.fetch(path);
    const parts: Uint8Array[] = [];
    for await (const part of response.body ?? []) {
      if (parts.length === 2 || parts.length === 5) await abortAllDurableObjects();
      parts.push(part as Uint8Array);
    }
    expect(parts.length).toBeGreaterThan(5);
    const states = await new Response(new Blob(parts)).json<unknown[]>();
    expect(states).toHaveLength(15);
    expect(states).toEqual(await get(caller, path));
  });
});

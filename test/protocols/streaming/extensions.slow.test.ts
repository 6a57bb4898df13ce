/** Stream transformers of a graph: what they push and promise is on the thread's stream, live and when it is read again. */
import "../../support/streaming-graphs.ts";
import { describe, expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { newThread } from "../../threads/client.ts";
import { sseEvents } from "../../support/sse.ts";
import { command, type Event, human, isEnd, ofRoot, read } from "./client.ts";

const CHANNELS = ["custom", "lifecycle", "tools"];

async function run(caller: Caller, said: string): Promise<{ thread: string; events: Event[] }> {
  const thread = crypto.randomUUID();
  await command(caller, thread, "run.start", { assistant_id: "counting", input: human(said) });
  return { thread, events: await read(caller, thread, { channels: CHANNELS }) };
}

const listNamed = (events: Event[], name: string) =>
  events.filter(({ method, params }) => method === "custom" && params.data.name === name).map((one) => one.params.data);

describe("a stream transformer", () => {
  it("adds what it pushes and what it promised, once each, before the run ends", async () => {
    const caller = await newCaller();
    const { thread, events } = await run(caller, "hi");
    expect(listNamed(events, "activity")).toEqual([
      { name: "activity", payload: { tool: "double" } },
      { name: "activity", payload: { message: true } },
    ]);
    expect(listNamed(events, "toolCalls")).toEqual([{ name: "toolCalls", payload: 1 }]);
    expect(listNamed(events, "own")).toEqual([]);
    // The graph's own custom events are there once.
    expect(listNamed(events, "progress")).toEqual([{ name: "progress", payload: { said: "hi" } }]);
    expect(ofRoot(events)).toEqual(["running", "completed"]);
    expect(isEnd(events.at(-1) as Event)).toBe(true);
    expect(await read(caller, thread, { channels: CHANNELS })).toEqual(events);
  });

  it("is read by the name of one of its channels", async () => {
    const caller = await newCaller();
    const { thread } = await run(caller, "hi");
    const events = await read(caller, thread, { channels: ["custom:toolCalls", "lifecycle"] });
    expect(events.filter(({ method }) => method === "custom").map(({ params }) => params.data.name)).toEqual([
      "toolCalls",
    ]);
  });

  it("ends with a run that pauses", async () => {
    const { events } = await run(await newCaller(), "ask");
    expect(listNamed(events, "toolCalls")).toEqual([{ name: "toolCalls", payload: 0 }]);
    expect(ofRoot(events)).toEqual(["running", "interrupted"]);
  });

  it("receives the failure of the graph", async () => {
    const { events } = await run(await newCaller(), "fail");
    expect(listNamed(events, "activity")).toEqual([{ name: "activity", payload: { failed: "It failed." } }]);
    expect(ofRoot(events)).toEqual(["running", "failed"]);
  });

  it("that fails in hearing of it does not keep the run open", async () => {
    expect(ofRoot((await run(await newCaller(), "fail twice")).events)).toEqual(["running", "failed"]);
  });

  it("that throws fails the run with its error", async () => {
    const { events } = await run(await newCaller(), "throw");
    expect(ofRoot(events)).toEqual(["running", "failed"]);
    expect(events.at(-1)?.params.data.error).toContain("The transformer cannot continue.");
  });

  it("adds nothing to the classic streams", async () => {
    const caller = await newCaller();
    const body = { assistant_id: "counting", input: human("hi"), stream_mode: ["custom", "tools"] };
    const response = await caller.fetch(`/threads/${await newThread(caller)}/runs/stream`, { body });
    const seen: unknown[] = [];
    for await (const { event, data } of sseEvents(response)) if (event.startsWith("custom")) seen.push(data);
    expect(seen).toEqual([{ name: "progress", payload: { said: "hi" } }]);
  });
});

/** What a reader gets that opens a thread without a cursor: its state once, then what follows, and not the turns before. */
import "../../support/streaming-graphs.ts";
import "../../support/graphs.ts";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { newThread } from "../../threads/client.ts";
import { ALL, command, type Event, human, isEnd, ofRoot, read } from "./client.ts";

const HOUR = 3_600_000;
/** Runs that have ended are in the past. */
function waitAnHour(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + HOUR });
}
afterEach(() => void vi.useRealTimers());

async function say(caller: Caller, thread: string, content: string, assistant_id = "echo"): Promise<void> {
  const body = { assistant_id, input: human(content) };
  await (await caller.fetch(`/threads/${thread}/runs/wait`, { body })).text();
}

/** A thread of some turns of `echo`. */
async function createTalk(turns: number): Promise<{ caller: Caller; thread: string }> {
  const caller = await newCaller();
  const thread = await newThread(caller);
  for (let turn = 1; turn <= turns; turn++) await say(caller, thread, `turn ${turn}`);
  return { caller, thread };
}

const isState = ({ method, params }: Event) => method === "values" && params.namespace.length === 0;
const countMessages = ({ params }: Event) => (params.data.messages as unknown[]).length;
const sizeOf = (events: Event[]) => JSON.stringify(events).length;
const everything = { channels: ALL, since: 0 };

describe("a thread at rest", () => {
  it("shows its state, and how its last run ended", async () => {
    const { caller, thread } = await createTalk(3);
    waitAnHour();
    const shown = await read(caller, thread);
    expect(shown.map(({ method }) => method)).toEqual(["values", "lifecycle"]);
    expect(countMessages(shown[0] as Event)).toBe(6);
    expect(ofRoot(shown)).toEqual(["completed"]);
    const all = await read(caller, thread, everything, { times: 3 });
    expect(all.at(-1)).toEqual(shown.at(-1));
    // Each event has an id of its own, which the reader can continue from.
    const [state] = shown as [Event];
    expect(all.map(({ event_id }) => event_id)).not.toContain(state.event_id);
    expect(await read(caller, thread, { channels: ALL, since_event_id: state.event_id })).toEqual(shown.slice(1));
    expect(await read(caller, thread, { channels: ALL, since: state.seq })).toEqual(shown.slice(1));
  });

  it("shows the state as it was changed by hand", async () => {
    const { caller, thread } = await createTalk(1);
    await caller.fetch(`/threads/${thread}/state`, { body: { values: human("by hand") } });
    waitAnHour();
    const [state] = (await read(caller, thread)) as [Event];
    expect(JSON.stringify(state.params.data)).toContain("by hand");
  });

  it("shows each of the channels, and none that is not asked for", async () => {
    const { caller, thread } = await createTalk(2);
    waitAnHour();
    const isFirst = { until: () => true };
    const [state] = (await read(caller, thread, { channels: ["values"] }, isFirst)) as [Event];
    expect(countMessages(state)).toBe(4);
    expect(ofRoot(await read(caller, thread, { channels: ["lifecycle"] }))).toEqual(["completed"]);
  });

  it("then shows the next run, whole", async () => {
    const { caller, thread } = await createTalk(2);
    waitAnHour();
    const reading = read(caller, thread, undefined, { times: 2 });
    await say(caller, thread, "the next one");
    const shown = await reading;
    const all = await read(caller, thread, everything, { times: 3 });
    const last = all.slice(all.findLastIndex((event) => ofRoot([event])[0] === "running"));
    expect(shown.slice(2)).toEqual(last);
  });

  it("costs the same after many turns, but for the state", async () => {
    const { caller, thread } = await createTalk(20);
    waitAnHour();
    const shown = await read(caller, thread);
    const all = await read(caller, thread, everything, { times: 20 });
    expect(shown).toHaveLength(2);
    expect(sizeOf(shown)).toBeLessThan(sizeOf(all) / 10);
  });

  it("shows a run that has just ended, whole, and of those before no state but the last", async () => {
    const { caller, thread } = await createTalk(3);
    const shown = await read(caller, thread, undefined, { times: 3 });
    const all = await read(caller, thread, everything, { times: 3 });
    const begins = all.findLastIndex((event) => ofRoot([event])[0] === "running");
    expect(shown.slice(-all.slice(begins).length)).toEqual(all.slice(begins));
    expect(shown.filter(isState).map(countMessages)).toEqual([4, 5, 6]);
    expect(shown.filter((event) => !isState(event))).toEqual(all.filter((event) => !isState(event)));
  });
});

describe("a thread that waits", () => {
  it("shows its interrupt, and the run that raised it", async () => {
    const { caller, thread } = await createTalk(2);
    await say(caller, thread, "ask", "actor");
    waitAnHour();
    const shown = await read(caller, thread, undefined, { times: 2 });
    expect(shown.filter(({ method }) => method === "input.requested")).toHaveLength(1);
    expect(ofRoot(shown)).toEqual(["completed", "running", "interrupted"]);
    expect(shown.filter(isState).map(countMessages)).toEqual([4, 5]);
  });
});

describe("a thread at work", () => {
  it("shows the state before its run, and the whole run", async () => {
    const { caller, thread } = await createTalk(2);
    waitAnHour();
    await command(caller, thread, "run.start", { assistant_id: "actor", input: human("slow") });
    const shown = await read(caller, thread, undefined, { times: 2 });
    expect(ofRoot(shown)).toEqual(["completed", "running", "completed"]);
    expect(shown.filter(isState).map(countMessages)).toEqual([4, 5]);
  });
});

describe("a graph below the root that a filter names", () => {
  it("is read from its beginning", async () => {
    const { caller, thread } = await createTalk(1);
    await say(caller, thread, "what is 17 * 23?", "agent");
    await say(caller, thread, "more");
    const all = await read(caller, thread, everything, { times: 3 });
    const namespace = all.find(({ params }) => params.namespace.length > 0)?.params.namespace ?? [];
    waitAnHour();
    const channels = ["messages", "lifecycle", "values"];
    const shown = await read(caller, thread, { channels, namespaces: [namespace, []] });
    const named = all.filter(
      ({ method, params }) => channels.includes(method) && params.namespace.join() === namespace.join(),
    );
    expect(named.length).toBeGreaterThan(0);
    expect(shown.slice(0, named.length)).toEqual(named);
    expect(shown.slice(named.length).filter(isState)).toHaveLength(1);
    expect(shown.filter(isEnd)).toHaveLength(1);
  });
});

describe("over a WebSocket", () => {
  it("shows the same", async () => {
    const { caller, thread } = await createTalk(3);
    waitAnHour();
    const upgraded = await caller.fetch(`/threads/${thread}/stream/events`, { headers: { upgrade: "websocket" } });
    const socket = upgraded.webSocket as WebSocket;
    const events: Event[] = [];
    const ended = new Promise<void>((resolve) => {
      socket.addEventListener("message", ({ data }) => {
        const frame = JSON.parse(String(data)) as Event | { type: "success" };
        if (frame.type !== "event") return;
        events.push(frame);
        if (isEnd(frame)) resolve();
      });
    });
    socket.accept();
    socket.send(JSON.stringify({ id: 1, method: "subscription.subscribe", params: { channels: ALL } }));
    await ended;
    expect(events).toEqual(await read(caller, thread));
    socket.close();
  });
});

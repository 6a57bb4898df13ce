/** The first run of a thread, whose row says what the thread's row does not say yet. */
import { abortAllDurableObjects } from "cloudflare:test";
import { expect, it } from "vitest";
import { type Caller, newCaller } from "../../support/caller.ts";
import { get, newThread, parseFrames, say } from "../client.ts";

interface Shown {
  status: string;
  metadata: Record<string, unknown>;
}

const readMetadata = async (caller: Caller, thread: string) =>
  (await get<Shown>(caller, `/threads/${thread}`)).metadata;

async function begin(caller: Caller, thread: string): Promise<string> {
  const body = { assistant_id: "agent", input: say("count to 40") };
  return (await (await caller.fetch(`/threads/${thread}/runs`, { body })).json<{ run_id: string }>()).run_id;
}

it("gives the thread its assistant, also when the object restarts before the run ends", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller, { metadata: { mine: 1 } });
  const run = await begin(caller, thread);
  await abortAllDurableObjects();
  expect(await readMetadata(caller, thread)).toMatchObject({ mine: 1, graph_id: "agent" });
  await (await caller.fetch(`/threads/${thread}/runs/${run}/join`)).text();
  await abortAllDurableObjects();
  expect(await readMetadata(caller, thread)).toMatchObject({ mine: 1, graph_id: "agent" });
});

it("keeps the assistant of the last run beside one that still waits for its time", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const later = { assistant_id: "agent", input: say("later"), after_seconds: 3_600 };
  await (await caller.fetch(`/threads/${thread}/runs`, { body: later })).text();
  await (
    await caller.fetch(`/threads/${thread}/runs/wait`, { body: { assistant_id: "echo", input: say("now") } })
  ).text();
  expect(await readMetadata(caller, thread)).toMatchObject({ graph_id: "echo" });
  await abortAllDurableObjects();
  expect(await readMetadata(caller, thread)).toMatchObject({ graph_id: "echo" });
});

it("keeps what a client changes in the thread while the run is in progress", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const run = await begin(caller, thread);
  await (await caller.fetch(`/threads/${thread}`, { method: "PATCH", body: { metadata: { later: 2 } } })).text();
  await abortAllDurableObjects();
  await (await caller.fetch(`/threads/${thread}/runs/${run}/join`)).text();
  expect(await readMetadata(caller, thread)).toMatchObject({ later: 2, graph_id: "agent" });
});

it("begins once for readers when its first attempt stops before they saw it", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const run = await begin(caller, thread);
  await abortAllDurableObjects();
  const streamed = await caller.fetch(`/threads/${thread}/runs/${run}/stream?stream_mode=values`);
  const frames = parseFrames(await streamed.text());
  const attempts = frames.filter(({ event }) => event === "metadata").map(({ data }) => data.attempt);
  expect(attempts).toHaveLength(new Set(attempts).size);
  expect(attempts.at(-1)).toBe(2);
  expect(frames.at(-1)).toMatchObject({ event: "values" });
});

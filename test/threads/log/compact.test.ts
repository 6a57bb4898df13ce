import { abortAllDurableObjects, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { Accumulator } from "../../../src/runtime/blocks.ts";
import { compact } from "../../../src/threads/runs/ending.ts";
import { ThreadContext } from "../../../src/threads/context.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { ALL, command, type Event, human, read } from "../../protocols/streaming/client.ts";
import { parseFrames } from "../client.ts";

type Json = Record<string, unknown>;

async function compactNow(caller: Caller, threadId: string): Promise<void> {
  const stub = env.THREAD.get(env.THREAD.idFromName(`${caller.workspaceId}:${threadId}`));
  await runInDurableObject(stub, (_thread, state) => compact(new ThreadContext(state, env)));
  // The object itself compacts its cached rows. Here it must read again what another instance has compacted.
  await abortAllDurableObjects();
}

/** Each block of each message, added up from the deltas as a client does. */
function blocks(events: Event[]): Record<string, unknown> {
  const result: Record<string, string> = {};
  for (const { method, params } of events) {
    const { event, run_id, index, delta } = params.data as Json & {
      delta?: { text?: string; fields?: { args: string } };
    };
    if (method !== "messages" || event !== "content-block-delta") continue;
    const key = `${String(run_id)}.${String(index)}`;
    result[key] = delta?.fields ? delta.fields.args : (result[key] ?? "") + (delta?.text ?? "");
  }
  return result;
}

const isDelta = ({ method, params }: Event) => method === "messages" && params.data.event === "content-block-delta";

it("old token deltas are added up: fewer events, the same ids, the same messages", async () => {
  const caller = await newCaller();
  const thread = crypto.randomUUID();
  const runs: string[] = [];
  for (const content of ["What is 17 * 23?", "And what can you do?"]) {
    const { result } = await command(caller, thread, "run.start", { assistant_id: "_", input: human(content) });
    runs.push(String(result.run_id));
    await read(caller, thread, { channels: ["lifecycle"] }, { times: runs.length });
  }
  const readClassic = async (run: string) => {
    const query = "stream_mode=messages-tuple&stream_mode=messages&stream_mode=values";
    return parseFrames(await (await caller.fetch(`/threads/${thread}/runs/${run}/stream?${query}`)).text());
  };
  const before = await read(caller, thread, undefined, { times: 2 });
  const classicBefore = await readClassic(runs[0]!);
  await compactNow(caller, thread);
  const after = await read(caller, thread, undefined, { times: 2 });

  expect(after.length).toBeLessThan(before.length - 10);
  const ids = new Set(before.map((event) => event.event_id));
  expect(after.filter((event) => !ids.has(event.event_id))).toEqual([]);
  expect(after.filter((event) => !isDelta(event))).toEqual(before.filter((event) => !isDelta(event)));
  expect(blocks(after)).toEqual(blocks(before));
  expect(after.filter(isDelta)).toHaveLength(Object.keys(blocks(before)).length);

  const classicAfter = await readClassic(runs[0]!);
  expect(classicAfter.length).toBeLessThan(classicBefore.length);
  const sums = (frames: typeof classicAfter) => {
    const accumulator = new Accumulator();
    const messages: Record<string, string> = {};
    for (const { event, data } of frames) {
      if (event !== "messages") continue;
      const [message] = data as unknown as [Json & { id: string; type: string }];
      if (message.type === "AIMessageChunk") messages[message.id] = accumulator.add(message).message;
    }
    return messages;
  };
  expect(sums(classicAfter)).toEqual(sums(classicBefore));
  const filterComplete = (frames: typeof classicAfter) => frames.filter((frame) => frame.event === "messages/complete");
  expect(filterComplete(classicAfter)).toEqual(filterComplete(classicBefore));

  // A reader can resume from every number that it saw, and no compaction is left to do.
  const { seq } = before.findLast(isDelta)!;
  const rest = await read(caller, thread, { channels: ALL, since: seq });
  expect(rest).toEqual(before.slice(before.findIndex((event) => event.seq > seq)));
  await compactNow(caller, thread);
  expect(await read(caller, thread, undefined, { times: 2 })).toEqual(after);
});

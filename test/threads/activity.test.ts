/** The stream of what changes in a workspace. */
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { indexShard } from "../../src/threads/search/rpc.ts";
import { type Caller, newCaller, send } from "../support/caller.ts";
import { newThread } from "./client.ts";

const PATH = "/api/v1/activity/stream";

/** The text of the stream until it holds `words`. */
async function until(reader: ReadableStreamDefaultReader<Uint8Array>, words: string): Promise<string> {
  let text = "";
  while (!text.includes(words)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`The stream ended: ${text}`);
    text += new TextDecoder().decode(value);
  }
  return text;
}

async function follow(caller: Caller) {
  const answer = await caller.fetch(PATH);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  await until(reader, "event: open");
  return reader;
}

it("names each thread that is made, changed and deleted, and none of another workspace", async () => {
  const [caller, other] = [await newCaller(), await newCaller()];
  const reader = await follow(caller);
  const foreign = await newThread(other);
  const id = await newThread(caller);
  const made = await until(reader, id);
  expect(made).toContain('"status":"idle"');
  expect(made).not.toContain(foreign);
  await caller.fetch(`/threads/${id}`, { method: "DELETE" });
  expect(await until(reader, '"status":null')).toContain(id);
  await reader.cancel();
});

it("names no thread as deleted that has changed since its deletion was requested", async () => {
  const caller = await newCaller();
  const reader = await follow(caller);
  const id = await newThread(caller);
  await until(reader, id);
  await indexShard(env, caller.workspaceId, 0).remove([{ id, revision: 1 }]);
  await caller.fetch(`/threads/${id}`, { method: "PATCH", body: { metadata: { changed: true } } });
  expect(await until(reader, "status")).not.toContain('"status":null');
  await reader.cancel();
});

it("needs a key", async () => {
  expect((await send(PATH)).status).toBe(401);
  expect((await send(PATH, { headers: { "x-api-key": "wrong" } })).status).toBe(401);
});

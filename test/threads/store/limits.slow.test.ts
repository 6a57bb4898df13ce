/** Rows of at most 2 MB: texts of any size go in, come out the same, and leave a thread that works and can be deleted. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { splitText } from "../../../src/threads/store/long-text.ts";
import { type Caller, newCaller } from "../../support/caller.ts";
import { generator, SEED } from "../../support/random.ts";
import "../../support/graphs.ts";
import { get, newThread, parseFrames, say, stream } from "../client.ts";

const SIZES = [1_000_000, 1_900_000, 2_100_000, 7_900_000];

/** A text of `size` bytes of UTF-8. */
const TEXTS: Record<string, (size: number) => string> = {
  "1-byte": (size) => "a".repeat(size),
  "3-byte": (size) => "水".repeat(Math.floor(size / 3)),
  "4-byte": (size) => `x${"🌊".repeat(Math.floor(size / 4))}`,
};

const getStub = (caller: Caller, thread: string) => env.THREAD.getByName(`${caller.workspaceId}:${thread}`);

async function longestValue(caller: Caller, thread: string): Promise<number> {
  return runInDurableObject(getStub(caller, thread), (_, { storage: { sql } }) => {
    const tables = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table'").toArray();
    const rows = tables
      .filter(({ name }) => !name.startsWith("_cf") && !name.startsWith("sqlite"))
      .flatMap(({ name }) => sql.exec(`SELECT * FROM ${name}`).toArray());
    const sizes = rows.map((row) =>
      Object.values(row).reduce((sum: number, v) => sum + Buffer.byteLength(JSON.stringify(v)), 0),
    );
    return Math.max(...sizes);
  });
}

async function works(caller: Caller, thread: string): Promise<void> {
  const frames = await stream(caller, thread, {
    assistant_id: "echo",
    input: say("still here"),
    stream_mode: "updates",
  });
  expect(frames.at(-1)?.data).toMatchObject({ echo: { messages: [{ content: "You said: still here" }] } });
  expect(await longestValue(caller, thread)).toBeLessThan(2_000_000);
  expect((await caller.fetch(`/threads/${thread}`, { method: "DELETE" })).status).toBe(204);
}

const INPUTS = Object.entries(TEXTS).flatMap(([name, makeText]) => SIZES.map((size) => ({ name, size, makeText })));

it.each(INPUTS)(
  "an input of $size bytes of $name text is answered, read back and replayed",
  { timeout: 60_000 },
  async ({ size, makeText }) => {
    const caller = await newCaller();
    const thread = await newThread(caller);
    const text = makeText(size);
    const answer = await caller.fetch(`/threads/${thread}/runs/stream`, {
      body: { assistant_id: "echo", input: say(text), stream_mode: ["values", "updates"] },
    });
    expect(answer.status).toBe(200);
    const got = parseFrames(await answer.text());
    const { run_id } = got[0]!.data as { run_id: string };
    const echoed = got.findLast(({ event }) => event === "updates")?.data as {
      echo: { messages: { content: string }[] };
    };
    expect(echoed.echo.messages[0]?.content === `You said: ${text}`).toBe(true);
    const replayed = await caller.fetch(`/threads/${thread}/runs/${run_id}/stream`, {
      headers: { "last-event-id": "-1" },
    });
    expect((await replayed.text()) === got.map(({ event, data, id }) => frame(event, data, id)).join("")).toBe(true);
    const { values } = await get<{ values: { messages: { content: string }[] } }>(caller, `/threads/${thread}/state`);
    expect(values.messages[0]?.content === text).toBe(true);
    await works(caller, thread);
  },
);

const frame = (event: string, data: unknown, id: string) =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\nid: ${id}\n\n`;

it("cuts texts between characters, in parts that fit", () => {
  const random = generator(SEED);
  for (let round = 0; round < 200; round += 1) {
    const characters = ["a", "é", "水", "🌊"];
    const text = Array.from({ length: 300 }, () => characters[Math.floor(random() * 4)]).join("");
    const size = 4 + Math.floor(random() * 100);
    const parts = [...splitText(text, size)];
    expect(parts.join(""), `SEED=${SEED}`).toBe(text);
    expect(Math.max(...parts.map((part) => Buffer.byteLength(part)))).toBeLessThanOrEqual(size);
    expect(parts.every((part) => part.isWellFormed())).toBe(true);
  }
});

describe("metadata", () => {
  it.each(SIZES)("of %i bytes is refused, and the thread works on", async (size) => {
    const caller = await newCaller();
    const metadata = { note: "m".repeat(size) };
    expect((await caller.fetch("/threads", { body: { metadata } })).status).toBe(422);
    const thread = await newThread(caller);
    const patched = await caller.fetch(`/threads/${thread}`, { method: "PATCH", body: { metadata } });
    expect(patched.status).toBe(422);
    expect((await patched.json<{ detail: string }>()).detail).toMatch(/262144/);
    const fresh = { assistant_id: "echo", input: say("hi"), metadata, if_not_exists: "create" };
    expect((await caller.fetch(`/threads/${crypto.randomUUID()}/runs/wait`, { body: fresh })).status).toBe(422);
    await works(caller, thread);
  });
});

it("a question and an answer of 3 MB", { timeout: 60_000 }, async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const run = { assistant_id: "asker", input: say("ask"), stream_mode: "updates" };
  await stream(caller, thread, run);
  const text = "b".repeat(3_000_000);
  const { interrupts } = await get<{ interrupts: Record<string, { id: string }[]> }>(caller, `/threads/${thread}`);
  const resume = Object.fromEntries(Object.values(interrupts).map(([one]) => [one?.id, text]));
  await stream(caller, thread, { assistant_id: "asker", command: { resume }, stream_mode: "updates" });
  const { values } = await get<{ values: { messages: { content: string }[] } }>(caller, `/threads/${thread}/state`);
  expect(values.messages.map(({ content }) => content.length).toSorted((a, b) => a - b)).toEqual([
    3, 3_000_007, 3_000_008,
  ]);
  await works(caller, thread);
});

it("a queue of large runs is refused past its limit, and the rest is carried out", { timeout: 60_000 }, async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const later = { assistant_id: "echo", input: say("q".repeat(7_000_000)), after_seconds: 3600 };
  const statuses: number[] = [];
  for (let i = 0; i < 5; i += 1) statuses.push((await caller.fetch(`/threads/${thread}/runs`, { body: later })).status);
  expect(statuses).toEqual([200, 200, 200, 200, 429]);
  expect((await caller.fetch(`/threads/${thread}/runs?limit=100`)).status).toBe(200);
  expect((await caller.fetch(`/threads/${thread}`, { method: "DELETE" })).status).toBe(204);
});

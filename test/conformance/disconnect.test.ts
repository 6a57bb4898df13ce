import { afterAll, beforeAll, expect, it } from "vitest";
import { seeded } from "../support/random.ts";
import type { TestServer } from "../support/server.ts";
import { sharedServer } from "../support/shared-server.ts";
import { Cursor } from "../support/sse.ts";
import { ALL } from "../support/thorough.ts";

const EVENTS = ALL ? 2000 : 600;
const DROPS = EVENTS / 10;

let server: TestServer;
beforeAll(async () => {
  server = await sharedServer();
});
afterAll(() => server.stop());

it(`a reader dropped at ${DROPS} random bytes over ${EVENTS} events loses and repeats nothing`, async () => {
  const random = seeded("disconnects");
  const headers = { ...server.headers, "content-type": "application/json" };
  const thread = `${server.url}/threads/${crypto.randomUUID()}`;
  const body = JSON.stringify({
    assistant_id: "agent",
    if_not_exists: "create",
    input: { messages: [{ role: "user", content: `count to ${EVENTS}` }] },
    stream_mode: ["messages-tuple", "updates"],
    stream_resumable: true,
  });
  const first = await fetch(`${thread}/runs/stream`, { method: "POST", headers, body });
  const run = first.headers.get("location") ?? "";
  expect(run).toMatch(/^\/threads\/[0-9a-f-]+\/runs\/[0-9a-f-]+\/stream$/);

  // An event is about 1 KB: the cuts are spread so that about as many fall within the stream as are wanted.
  const cursor = new Cursor();
  let dropped = 0;
  let end = await cursor.read(first, random.between(1, 2_000));
  while (end === "dropped") {
    dropped += 1;
    const resumed = await fetch(server.url + run, { headers: { ...headers, "last-event-id": cursor.lastId ?? "-1" } });
    expect(resumed.status).toBe(200);
    end = await cursor.read(resumed, dropped < DROPS ? random.between(1, 12_000) : undefined);
  }
  expect(dropped).toBe(DROPS);

  const whole = new Cursor();
  await whole.read(await fetch(server.url + run, { headers: { ...headers, "last-event-id": "-1" } }));
  expect(cursor.events).toEqual(whole.events);
  expect(new Set(cursor.events.map(({ id }) => id)).size).toBe(cursor.events.length);
  const tokens = cursor.events.flatMap(({ event, data }) =>
    event === "messages" ? (data as { content: string }[]) : [],
  );
  const said = tokens.map(({ content }) => content ?? "").join("");
  expect(said).toBe(Array.from({ length: EVENTS }, (_, index) => index + 1).join(" "));
});

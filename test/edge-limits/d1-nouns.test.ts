/** A value of a row is refused past its limit in bytes, before anything is written. */
import { beforeAll, expect, test } from "vitest";
import { type Caller, newCaller } from "../support/caller.ts";

/** Requests that put a text of their own into one value. */
const REQUESTS: [what: string, path: string, body: (text: string) => object][] = [
  ["an assistant's metadata", "/assistants", (a) => ({ graph_id: "echo", metadata: { a } })],
  ["an assistant's config", "/assistants", (a) => ({ graph_id: "echo", config: { configurable: { a } } })],
  ["an assistant's context", "/assistants", (a) => ({ graph_id: "echo", context: { a } })],
  ["a cron's input", "/runs/crons", (a) => ({ assistant_id: "echo", schedule: "0 0 1 1 *", input: { a } })],
  ["a cron's metadata", "/runs/crons", (a) => ({ assistant_id: "echo", schedule: "0 0 1 1 *", metadata: { a } })],
  ["a project's extra", "/api/v1/sessions", (a) => ({ name: crypto.randomUUID(), extra: { a } })],
  ["a dataset's description", "/api/v1/datasets", (a) => ({ name: crypto.randomUUID(), description: a })],
  ["a filter of assistants", "/assistants/search", (a) => ({ metadata: { a } })],
  ["a filter of threads", "/threads/search", (a) => ({ metadata: { a } })],
  ["a filter of items", "/store/items/search", (a) => ({ namespace_prefix: [], filter: { a } })],
];

let caller: Caller;
beforeAll(async () => {
  caller = await newCaller();
});

test.for(REQUESTS)("9,000 bytes in %s", async ([, path, body]) => {
  expect((await caller.fetch(path, { body: body("x".repeat(9_000)) })).status).toBe(200);
});

const OVER = [1_900_000, 2_100_000, 8_000_000];
test.for(OVER.flatMap((size) => REQUESTS.map((request) => [size, ...request] as const)))(
  "%i bytes in %s",
  async ([size, , path, body]) => {
    const answer = await caller.fetch(path, { body: body("x".repeat(size)) });
    expect(answer.status).toBe(422);
    expect(await answer.json()).toMatchObject({ detail: expect.stringMatching(/at most \d+ (bytes|characters)/) });
  },
);

test("two values that fit each by itself, but not one row", async () => {
  const text = "x".repeat(800_000);
  const one = { graph_id: "echo", name: "two halves", config: { configurable: { text } }, context: { text } };
  expect((await caller.fetch("/assistants", { body: one })).status).toBe(422);
  const count = await caller.fetch("/assistants/count", { body: { name: "two halves" } });
  expect(await count.json()).toBe(0);
});

test("an item's value is measured in bytes", async () => {
  const put = (text: string) =>
    caller.fetch("/store/items", { method: "PUT", body: { namespace: ["a"], key: "k", value: { text } } });
  expect((await put("水".repeat(340_000))).status).toBe(204);
  const refused = await put("水".repeat(360_000));
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({ detail: expect.stringContaining("1048576 bytes") });
});

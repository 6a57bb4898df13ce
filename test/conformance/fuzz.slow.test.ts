/** Requests of one seed: SEED repeats another, REQUESTS sets how many. And what the fuzzer takes for a fault. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Dice } from "../../tools/fuzz/dice.ts";
import { EARLY, sendEarly } from "../../tools/fuzz/early.ts";
import { generateRequest } from "../../tools/fuzz/generate.ts";
import { fuzz, leaks } from "../../tools/fuzz/run.ts";
import { startFuzzed } from "../../tools/fuzz/server.ts";
import { findFault } from "../../tools/fuzz/verdict.ts";
import { makeWorld, type World } from "../../tools/fuzz/world.ts";
import { chooseAmount } from "../support/thorough.ts";

const SEED = Number(process.env.SEED ?? 1);
const REQUESTS = chooseAmount("REQUESTS", 500, 100_000);

describe("a fault is", () => {
  const answer = { status: 200, retryAfter: undefined, text: "{}", milliseconds: 1 };
  const secrets = { marker1: "data of another workspace" };
  it.each([
    ["a 5xx", { status: 500 }],
    ["a 501 that does not say what is not served", { status: 501 }],
    ["a 503 that does not say when to come again", { status: 503 }],
    ["a hang", { status: 0, fault: "hang" as const }],
    ["a broken connection", { status: 0, fault: "connection" as const }],
    ["another workspace's data", { text: '{"name":"marker1"}' }],
    ["the failure of a command", { text: '{"type":"error","error":"unknown_error"}' }],
    ["the database's own words", { text: '{"detail":"D1_ERROR: near"}' }],
  ])("%s", (_, change) => {
    expect(findFault({ ...answer, ...change }, secrets)).toBeDefined();
  });

  it("nothing else", () => {
    expect(findFault(answer, secrets)).toBeUndefined();
    expect(findFault({ ...answer, status: 404 }, secrets)).toBeUndefined();
    expect(findFault({ ...answer, status: 503, retryAfter: "1" }, secrets)).toBeUndefined();
    expect(findFault({ ...answer, status: 501, text: "Weir does not serve charts." }, secrets)).toBeUndefined();
    expect(findFault({ ...answer, status: 501, text: "" }, secrets, { path: "/x", method: "HEAD" })).toBeUndefined();
    expect(
      findFault({ ...answer, text: "marker1" }, secrets, { path: "/repos/-/marker1", method: "GET" }),
    ).toBeUndefined();
  });
});

describe("against a running server", () => {
  let server: Awaited<ReturnType<typeof startFuzzed>>;
  let world: World;
  beforeAll(async () => {
    server = await startFuzzed();
    world = await makeWorld(server.url, server.adminKey, SEED, server.users);
  });
  afterAll(() => server.stop());

  it("makes the same requests of the same seed", () => {
    const operation = { method: "POST", path: "/threads/{thread_id}", operation: {} };
    const generateRequests = (seed: number) =>
      Array.from({ length: 200 }, (_, index) => generateRequest(seed, index, world.actors, [operation]));
    expect(generateRequests(7)).toEqual(generateRequests(7));
    expect(generateRequests(7)).not.toEqual(generateRequests(8));
    expect(new Set(generateRequests(7).map(({ kind }) => kind)).size).toBe(7);
    expect(Dice.of(1, 2).next()).not.toBe(Dice.of(2, 1).next());
  });

  it.each(Object.entries(EARLY))("answers %s before its end", { timeout: 120_000 }, async (_, early) => {
    const outcomes = await sendEarly(server.url, world.actors[0]?.headers ?? {}, early);
    expect(Object.keys(outcomes)).toEqual([String(early.status)]);
  });

  it(`finds no fault in ${REQUESTS} requests`, { timeout: 120_000 + REQUESTS * 50 }, async () => {
    const report = await fuzz(server.url, world, {
      seed: SEED,
      requests: REQUESTS,
      pid: server.pid,
      progress: console.log,
    });
    const { faults, memory, statuses } = report;
    console.log(JSON.stringify({ SEED, statuses, memory }));
    expect(faults.map(({ index, what }) => `request ${index} of seed ${SEED}: ${what}`)).toEqual([]);
    expect(await server.crossings()).toEqual([]);
    expect(server.errors).toEqual([]);
    expect(leaks(report), `memory ${memory.join(", ")} MB`).toBe(false);
    // Not all refused: a good part of the requests reaches the code behind validation.
    const total = Object.values(statuses).flatMap((one) => Object.entries(one));
    const taken = total.filter(([status]) => status.startsWith("2")).reduce((sum, [, count]) => sum + count, 0);
    expect(taken).toBeGreaterThan(REQUESTS / 10);
  });
});

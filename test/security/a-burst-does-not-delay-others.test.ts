/** One credential's burst of requests takes its share of an isolate, and leaves the rest to others. */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Principal } from "../../src/http/principal.ts";
import { takeTurn } from "../../src/access/auth/limits.ts";
import { newCaller } from "../support/caller.ts";
import { pickCases } from "../support/thorough.ts";

const SHARE = 16;
const request = (path: string) => new Request(`https://weir.example${path}`);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const principal = () => ({ workspaceId: crypto.randomUUID(), credentialId: "key" }) as Principal;

/** Requests this many turns, and returns which have begun. */
async function startBurst(of: Principal, count: number, path = "/threads") {
  const begun: (() => void)[] = [];
  const turns = Array.from({ length: count }, async () => begun.push(await takeTurn(request(path), of)));
  const all = Promise.allSettled(turns);
  await vi.advanceTimersByTimeAsync(0);
  return { begun, all };
}

it("a credential has a limited number of active requests; others begin immediately", async () => {
  const [busy, other] = [principal(), principal()];
  const { begun, all } = await startBurst(busy, SHARE + 3);
  expect(begun).toHaveLength(SHARE);
  expect((await startBurst(other, 1)).begun).toHaveLength(1);
  begun[0]?.();
  begun[0]?.();
  await vi.advanceTimersByTimeAsync(100);
  expect(begun).toHaveLength(SHARE + 1);
  begun[1]?.();
  begun[2]?.();
  await vi.advanceTimersByTimeAsync(100);
  expect(begun).toHaveLength(SHARE + 3);
  await all;
});

const patience: [path: string, ms: number][] = [
  ["/a2a/agent", 320],
  ["/threads", 6_000],
];
it.each(pickCases(patience, 1))("a request to %s that waits for something gives its turn back", async (path, ms) => {
  // Otherwise calls of agents that call this server could wait for each other.
  const { begun, all } = await startBurst(principal(), SHARE * 3, path);
  expect(begun).toHaveLength(SHARE);
  await vi.advanceTimersByTimeAsync(ms);
  expect(begun).toHaveLength(SHARE * 2);
  await vi.advanceTimersByTimeAsync(ms);
  expect(begun).toHaveLength(SHARE * 3);
  await all;
});

it("too many waiting requests are refused", async () => {
  const busy = principal();
  await startBurst(busy, SHARE + 1_000);
  await expect(takeTurn(request("/threads"), busy)).rejects.toMatchObject({ status: 429 });
});

it("a burst over HTTP is answered in full", async () => {
  vi.useRealTimers();
  const caller = await newCaller();
  const answers = await Promise.all(
    Array.from({ length: SHARE * 4 }, async () => {
      const answer = await caller.fetch("/threads", { body: {} });
      await answer.text();
      return answer.status;
    }),
  );
  expect(new Set(answers)).toEqual(new Set([200]));
});

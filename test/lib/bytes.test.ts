import { afterEach, describe, expect, it, vi } from "vitest";
import { MemoryBudget } from "../../src/lib/bytes.ts";
import { POLL_MS } from "../support/thorough.ts";

afterEach(() => void vi.useRealTimers());

describe("a budget of memory", () => {
  it("admits claims up to its size, and the oldest beyond it", async () => {
    const budget = new MemoryBudget(100);
    const [oldest, second] = [budget.reserve(), budget.reserve()];
    await second.hold(100);
    await oldest.hold(1_000);
    expect(budget.held).toBe(1_100);
    oldest.release();
    await second.hold(5_000);
    expect(budget.held).toBe(5_000);
  });

  it("lets the others wait until there is room", async () => {
    const budget = new MemoryBudget(100);
    const [oldest, ...others] = Array.from({ length: 4 }, () => budget.reserve());
    await oldest!.hold(80);
    const admitted: number[] = [];
    const waiting = others.map((claim, i) => claim.hold(40).then(() => admitted.push(i)));
    await vi.waitFor(() => expect(others.every(({ moved }) => moved > 0)).toBe(true), POLL_MS);
    expect(admitted).toEqual([]);
    // What holds less makes room without an end.
    await oldest!.hold(20);
    await Promise.all(waiting.slice(0, 2));
    expect(budget.held).toBe(100);
    for (const claim of [oldest!, others[0]!]) claim.release();
    await Promise.all(waiting);
    expect(admitted.toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
  });

  it("refuses with 503 and Retry-After after ten seconds", async () => {
    // Only the clock: the timers of the objects that run beside this test stay real.
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const budget = new MemoryBudget(100);
    await budget.reserve().hold(100);
    const refused = budget
      .reserve()
      .hold(1)
      .catch((error: unknown) => error);
    vi.setSystemTime(Date.now() + 11_000);
    expect(await refused).toMatchObject({ status: 503, more: { headers: { "retry-after": "2" } } });
  });

  it("drops a claim whose request was ended by the platform", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() });
    const budget = new MemoryBudget(100);
    await budget.reserve().hold(100);
    vi.setSystemTime(Date.now() + 61_000);
    const later = budget.reserve();
    await budget.reserve().hold(90);
    expect(budget.held).toBe(90);
    await later.hold(1_000);
  });
});

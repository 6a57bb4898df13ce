import { describe, expect, it } from "vitest";
import { inParallel } from "../../src/lib/parallel.ts";

describe("work on many items", () => {
  it("is done a few at a time, and its results keep the order of the items", async () => {
    let [under, most] = [0, 0];
    const results = await inParallel([5, 1, 4, 2, 3, 0, 6], 3, async (item) => {
      most = Math.max(most, ++under);
      await scheduler.wait(item);
      under--;
      return item * 2;
    });
    expect(results).toEqual([10, 2, 8, 4, 6, 0, 12]);
    expect(most).toBe(3);
  });

  it("ends with the first failure: nothing more is begun", async () => {
    const begun: number[] = [];
    const failing = inParallel([1, 2, 3, 4, 5], 2, async (item) => {
      begun.push(item);
      await scheduler.wait(1);
      if (item === 2) throw new Error("two");
    });
    await expect(failing).rejects.toThrow("two");
    await scheduler.wait(10);
    expect(begun.length).toBeLessThan(5);
  });
});

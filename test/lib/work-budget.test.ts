/** The work of a whole request: bounded, and interrupted for the other requests of its isolate. */
import { expect, it } from "vitest";
import { WorkBudget } from "../../src/lib/work-budget.ts";

const budget = () => new WorkBudget("The work", "Ask for less.");

it("small items let other requests go on, too", async () => {
  const work = budget();
  let others = 0;
  const timer = setInterval(() => others++);
  for (let item = 0; item < 60; item++) {
    work.spend(50_000);
    await work.pause();
  }
  clearInterval(timer);
  expect(others).toBeGreaterThan(3);
});

it("all items of a request share one budget", async () => {
  const work = budget();
  const spend = async () => {
    for (;;) {
      work.spend(1_000_000);
      await work.pause();
    }
  };
  await expect(spend()).rejects.toThrow("The work takes too much work. Ask for less.");
});

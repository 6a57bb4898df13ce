import { expect, it } from "vitest";
import { Slots } from "../../src/exports/slots.ts";

it("a destination takes all slots while no other waits, and one of them otherwise", () => {
  const slots = new Slots(2);
  expect(slots.take("a", 0)).toBe(0);
  expect(slots.take("a", 0)).toBe(0);
  expect(slots.take("b", 0)).toBeGreaterThan(0);
  expect(slots.isWanted("a", 0)).toBe(true);
  expect(slots.isWanted("b", 0)).toBe(false);
  slots.give("a");
  expect(slots.take("a", 10)).toBeGreaterThan(0);
  expect(slots.take("b", 10)).toBe(0);
  slots.give("b");
  // The other one went to another isolate.
  expect(slots.take("a", 20_000)).toBe(0);
});

it("a store that does not answer is tried once in a while, by one run, and ever more rarely", () => {
  const slots = new Slots(2);
  slots.take("hanging", 0);
  slots.take("hanging", 0);
  slots.hung("hanging", 0);
  slots.give("hanging");
  slots.give("hanging");
  expect(slots.take("hanging", 1_000)).toBe(59_000);
  expect(slots.take("other", 1_000)).toBe(0);
  expect(slots.take("hanging", 60_000)).toBe(0);
  slots.give("other");
  expect(slots.take("hanging", 60_000)).toBeGreaterThan(0);
  slots.hung("hanging", 150_000);
  slots.give("hanging");
  expect(slots.take("hanging", 150_000)).toBe(120_000);
  for (let i = 0; i < 10; i++) slots.hung("hanging", 0);
  expect(slots.take("hanging", 0)).toBe(900_000);
  slots.answered("hanging");
  expect(slots.take("hanging", 0)).toBe(0);
  expect(slots.take("hanging", 0)).toBe(0);
});

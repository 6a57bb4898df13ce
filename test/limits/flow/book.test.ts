/** Who holds slots and who is next, beside a reference, and with examples of the order. */
import { describe, expect, it } from "vitest";
import { SlotBook, type SlotLease } from "../../../src/limits/flow/book.ts";
import type { FlowLimits, SlotNeed } from "../../../src/limits/flow/run-flow.ts";
import { generator, createRandom } from "../../support/random.ts";
import { ALL, chooseAmount } from "../../support/thorough.ts";
import { Reference } from "./reference.ts";

const SEQUENCES = chooseAmount("SEQUENCES", ALL ? 25 : 8, 1_000);
const OPERATIONS = 150;

let ids = 0;
const createClaim = (needs: SlotNeed[], more: Partial<SlotLease> = {}): SlotLease => ({
  runId: `run ${(ids += 1)}`,
  threadId: "thread",
  created: 0,
  due: 0,
  priority: 5,
  needs,
  ...more,
});

it(`${SEQUENCES} random sequences: the same runs begin in the same order as in the reference`, () => {
  let grants = 0;
  for (let seed = 1; seed <= SEQUENCES; seed += 1) {
    const random = createRandom(generator(seed));
    const limits: FlowLimits[] = Array.from({ length: 3 }, () => ({
      ...(random.next() < 0.7 && { concurrency: random.between(1, 4) }),
      ...(random.next() < 0.3 && { starts_per_minute: random.between(1, 5) }),
      ...(random.next() < 0.3 && { tokens_per_minute: random.between(1, 200) }),
    }));
    const own: Record<string, FlowLimits | undefined> = { own: { concurrency: random.between(1, 4) } };
    const ruleLimits = (rule: string) => own[rule];
    let book = new SlotBook(ruleLimits);
    const reference = new Reference(ruleLimits);
    // Moments differ: of claims with the same score, the reference and the book may choose differently.
    let now = 1_000_000;
    const step = (): SlotLease | undefined => {
      const luck = random.next();
      const held = reference.all.filter(({ granted, ended }) => granted !== undefined && ended === undefined);
      const open = reference.all.filter(({ ended }) => ended === undefined);
      if (luck < 0.55) {
        const needs = limits.flatMap((one, i): SlotNeed[] => {
          if (random.next() < 0.5) return [];
          return [{ rule: `rule ${i}`, key: `key ${random.between(0, 3)}`, limits: one }];
        });
        if (random.next() < 0.4 || needs.length === 0) needs.push({ rule: "own", key: `key ${random.between(0, 2)}` });
        const turn = random.next() < 0.3 ? `turn ${random.between(0, 3)}` : undefined;
        const claim = createClaim(needs, {
          due: now - random.between(0, 200_000),
          priority: random.between(0, 10),
          turn,
        });
        reference.all.push({ claim: { ...claim }, tokens: 0 });
        book.add(claim);
        return claim;
      }
      if (luck < 0.9) {
        const from = random.next() < 0.8 ? held : open;
        const known = from[random.between(0, from.length)];
        if (!known) return undefined;
        const tokens = known.granted === undefined ? 0 : random.between(0, 100);
        Object.assign(known, { ended: now, tokens });
        const claim = book.lease(known.claim.runId) as SlotLease;
        book.end(claim, now, tokens);
        return claim;
      }
      now += random.between(1, 90_000);
      if (random.next() < 0.3)
        own.own =
          random.next() < 0.3
            ? undefined
            : { concurrency: random.between(1, 4), ...(random.next() < 0.3 && { paused: true }) };
      return undefined;
    };
    for (let operation = 0; operation < OPERATIONS; operation += 1) {
      now += random.between(1, 3_000);
      // Time frees slots of limits a minute: what an alarm grants comes first.
      expect(book.grant(now).map(({ runId }) => runId)).toEqual(reference.grant(now));
      const near = step();
      const begun = book.grant(now, near).map(({ runId }) => runId);
      expect(begun, `seed ${seed}, operation ${operation}`).toEqual(reference.grant(now));
      grants += begun.length;
      for (const { claim } of reference.all)
        for (const need of claim.needs.filter(({ limits: own_ }) => own_))
          expect(reference.listHeld(need).length).toBeLessThanOrEqual(need.limits?.concurrency ?? Infinity);
      if (random.next() < 0.1) book.prune(now);
      if (random.next() > 0.05) continue;
      // A restart: the claims are read from the storage.
      const again = new SlotBook(ruleLimits);
      const stored = [...book.leases()].sort((a, b) => (a.granted ?? 0) - (b.granted ?? 0));
      for (const claim of stored) again.add(structuredClone(claim));
      expect(again.waiting).toBe(book.waiting);
      const slots = (of: SlotBook) =>
        of.uses(now).map(({ rule, key, held, waiting }) => `${rule} ${key} ${held} ${waiting}`);
      expect(slots(again).sort()).toEqual(slots(book).sort());
      if (stored.every(({ granted }) => granted === undefined)) book = again;
    }
  }
  expect(grants).toBeGreaterThan(SEQUENCES);
});

describe("the order", () => {
  const one: SlotNeed = { rule: "one", key: "", limits: { concurrency: 1 } };

  /** The names in the order in which they begin: each ends before the next. */
  function listOrder(claims: SlotLease[], now: number, ms = 1): string[] {
    const book = new SlotBook(() => undefined);
    const first = createClaim([one], { runId: "first" });
    book.add(first);
    let [working] = book.grant(0, first);
    for (const claim of claims) book.add(claim);
    const order: string[] = [];
    for (let at = now; working; at += ms) {
      book.end(working, at);
      [working] = book.grant(at, working);
      if (working) order.push(working.runId);
    }
    return order;
  }
  const createWaiting = (runId: string, more: Partial<SlotLease>) => createClaim([one], { runId, ...more });

  it("is that of age for one priority, and a higher priority is first", () => {
    const claims = [
      createWaiting("old", { due: 10 }),
      createWaiting("older", { due: 5 }),
      createWaiting("low", { due: 1, priority: 2 }),
      createWaiting("high", { due: 30, priority: 9 }),
    ];
    expect(listOrder(claims, 100)).toEqual(["high", "older", "old", "low"]);
  });

  it("lets a run of the lowest priority begin after nine minutes, also while others come", () => {
    const low = createWaiting("low", { due: 0, priority: 0, turn: "low" });
    const high = Array.from({ length: 30 }, (_, i) =>
      createWaiting(`high ${i}`, { due: i * 60_000, priority: 9, turn: "high" }),
    );
    expect(listOrder([low, ...high], 60_000, 60_000).indexOf("low")).toBeLessThan(10);
  });

  /** Claims for A and claims for B come without an end, and one of the two slots is always in use. */
  it("lets a run that needs two slots begin while others keep one of them in use at any time", () => {
    const needs = ["A", "B"].map((rule): SlotNeed => ({ rule, key: "", limits: { concurrency: 1 } }));
    const book = new SlotBook(() => undefined);
    let now = 0;
    const add = (...wanted: SlotNeed[]) => {
      const claim = createClaim(wanted, { due: now });
      book.add(claim);
      book.grant(now, claim);
      return claim;
    };
    const working = needs.map((need) => add(need));
    const both = add(...needs);
    for (let round = 0; round < 1_000 && both.granted === undefined; round += 1) {
      for (const [i, need] of needs.entries()) {
        now += 1_000;
        const next = add(need);
        book.end(working[i] as SlotLease, now);
        book.grant(now, working[i]);
        working[i] = next;
        // One that waited for the slot that is kept ends when its turn has come.
        if (next.granted === undefined && both.granted === undefined) break;
      }
    }
    expect(both.granted).toBeLessThan(10 * 60_000);
    expect(working.map((claim) => book.position(claim, now)?.waiting_for ?? [])).not.toEqual([[], []]);
  });

  it("keeps no slot for a run that is paused", () => {
    const limits = { concurrency: 1 };
    const book = new SlotBook((rule) => (rule === "stop" ? { paused: true } : limits));
    const [stop, shared] = [
      { rule: "stop", key: "" },
      { rule: "shared", key: "" },
    ];
    book.add(createClaim([stop, shared], { due: 0 }));
    const other = createClaim([shared], { due: 20 * 60_000 });
    book.add(other);
    expect(book.grant(20 * 60_000, other)).toEqual([other]);
  });

  it("takes turns: a key with many runs does not keep back one with few", () => {
    const many = Array.from({ length: 6 }, (_, i) => createWaiting(`many ${i}`, { due: i, turn: "many" }));
    const few = [createWaiting("few 0", { due: 100, turn: "few" }), createWaiting("few 1", { due: 101, turn: "few" })];
    expect(listOrder([...many, ...few], 200)).toEqual([
      "many 0",
      "few 0",
      "many 1",
      "few 1",
      "many 2",
      "many 3",
      "many 4",
      "many 5",
    ]);
  });
});

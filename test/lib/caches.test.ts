/** Caches of limited size, most of which all objects of an isolate share: what they count is what they hold. */
import { describe, expect, it } from "vitest";
import { SizedCache } from "../../src/lib/cache.ts";
import { RecentEvents, type RecentEvent } from "../../src/threads/log/segments.ts";
import { seeded } from "../support/random.ts";

describe("a cache", () => {
  it("holds what was used last, up to its limit", () => {
    const random = seeded("cache");
    const LIMIT = 1_000;
    const cache = new SizedCache<number, string>(LIMIT);
    /** The least recently used first. */
    let model: { key: number; value: string; size: number }[] = [];
    for (let times = 0; times < 20_000; times += 1) {
      const key = random.between(0, 20);
      const others = model.filter((entry) => entry.key !== key);
      const known = model.find((entry) => entry.key === key);
      const act = random.next();
      if (act < 0.6) {
        const size = random.between(0, 300);
        const value = `${key} ${times}`;
        cache.set(key, value, size);
        model = size > LIMIT / 4 ? others : [...others, { key, value, size }];
        while (model.reduce((sum, entry) => sum + entry.size, 0) > LIMIT) model.shift();
      } else if (act < 0.7) {
        cache.delete(key);
        model = others;
      } else if (known) model = [...others, known];
      expect(cache.get(key)).toBe(model.find((entry) => entry.key === key)?.value);
    }
  });
});

describe("the latest events of threads", () => {
  const event = (seq: number, length: number): RecentEvent => ({
    seq,
    ts: 0,
    run: "run",
    method: "custom",
    ns: [],
    data: "x".repeat(length),
  });
  const createFilled = () => {
    const recent = new RecentEvents();
    for (let seq = 1; seq <= 18; seq += 1) recent.add(event(seq, 100_000));
    return recent;
  };

  it("are kept, also after many other threads that are gone", () => {
    for (let threads = 0; threads < 100; threads += 1) createFilled();
    expect(createFilled().after(0, 18)?.length).toBe(18);
  });

  it("are those that were added, in any order of operations", () => {
    const random = seeded("latest events");
    const threads = Array.from({ length: 12 }, () => ({ recent: new RecentEvents(), log: [] as RecentEvent[] }));
    const listHeld = ({ recent, log }: (typeof threads)[number]): RecentEvent[] => {
      for (let after = 0; after < log.length; after += 1) {
        const events = recent.after(after, log.length);
        if (events) return events;
      }
      return [];
    };
    let lost = false;
    for (let times = 0; times < 3_000; times += 1) {
      const thread = threads[random.between(0, threads.length)] as (typeof threads)[number];
      const { recent, log } = thread;
      const act = random.next();
      if (act < 0.8) {
        log.push({ ...event(log.length + 1, random.between(0, 250_000)), refs: random.next() < 0.5 });
        recent.add(log.at(-1) as RecentEvent);
        lost ||= recent.after(log.length - 1, log.length)?.[0] !== log.at(-1);
      } else if (act < 0.9) {
        const wanted = log[random.between(0, log.length)];
        const whole = "y".repeat(random.between(0, 3_000_000));
        const given = wanted?.refs ? recent.text(wanted, () => whole) : whole;
        lost ||= given !== whole && given !== wanted?.whole;
      } else if (act < 0.95) {
        log.length = random.between(0, log.length + 1);
        recent.dropAfter(log.length);
      } else if (act < 0.96) recent.forget();
      if (times % 50 > 0) continue;
      const all = threads.map((one) => ({ events: listHeld(one), log: one.log }));
      for (const one of all) expect(one.events).toEqual(one.log.slice(one.log.length - one.events.length));
      const sizes = all.map(({ events }) =>
        events.reduce((sum, { data, whole = "" }) => sum + 200 + data.length + whole.length, 0),
      );
      expect(Math.max(...sizes)).toBeLessThan(2_500_000);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(16_000_000);
    }
    expect(lost, "an event that was just added, or its text").toBe(false);
  });
});

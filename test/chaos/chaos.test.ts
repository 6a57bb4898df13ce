/**
 * Clients of all parts work while a seed chooses faults: every Durable Object restarts, alarms come early, the storage of
 * objects and D1 fail, the clock is set, messages arrive late and twice, receivers and stores fail. No client sees a failure
 * but one of storage, which it repeats. Nothing is lost, and nothing comes twice.
 *
 * `npm run test:soak` has 20,000 operations; OPERATIONS sets how many. SEED repeats the choices; the moments differ.
 */
import { expect, it } from "vitest";
import { pause } from "../support/aborts.ts";
import { generator, createRandom, SEED } from "../support/random.ts";
import { installClock } from "../support/clock.ts";
import { injected } from "../support/failing-storage.ts";
import { engines } from "./engines.ts";
import { anyStorage, faults } from "./faults.ts";
import { expectAtRest, newClient, receiver } from "./world.ts";
import { ALL, chooseAmount, SOAK } from "../support/thorough.ts";

const OPERATIONS = chooseAmount("OPERATIONS", ALL ? 60 : 15, 20_000);
/** Clients that work at the same time, each in a workspace of its own. */
const CLIENTS = 12;
/** Seeds that found something. A soak repeats them. */
const PAST = [1, 611003, 1123001, 1123002];
const PAST_OPERATIONS = 200;
/** A long run prints its progress at each multiple of this. */
const PROGRESS = 500;

const names = Object.keys(engines);

/** Works off this many operations under faults that the seed chooses. Returns how many of each there were. */
async function work(seed: number, operations: number) {
  const random = createRandom(generator(seed));
  const done: Record<string, number> = {};
  const struck: Record<string, number> = {};
  const clients = await Promise.all(
    Array.from({ length: CLIENTS }, (_, i) => newClient(generator(seed + 1 + i), i % 2 === 0)),
  );
  let started = 0;
  let finished = 0;
  const working = clients.map(async (client) => {
    while (started < operations) {
      // Each engine works once, then the seed chooses.
      const name = names[started < names.length ? started : client.random.between(0, names.length)] ?? "";
      started += 1;
      await engines[name]?.(client);
      done[name] = (done[name] ?? 0) + 1;
      finished += 1;
      if (finished % PROGRESS === 0) console.log(`chaos: ${finished} of ${operations} operations`);
      // Objects that are always busy leave no moment to restart them.
      await pause(client.random.between(0, 300));
    }
  });
  const all = Promise.all(working);
  const striker = { over: false };
  const striking = (async () => {
    while (!striker.over) {
      await pause(random.between(200, 1_200));
      const [name, strike] = Object.entries(faults)[random.between(0, Object.keys(faults).length)] ?? [];
      if (!name || !strike) continue;
      await strike(clients, random);
      struck[name] = (struck[name] ?? 0) + 1;
    }
  })();
  await all.finally(() => (striker.over = true));
  await striking;
  for (const client of clients) await expectAtRest(client);
  return { done, struck };
}

const runs = [[SEED, OPERATIONS], ...(SOAK ? PAST.map((seed) => [seed, PAST_OPERATIONS]) : [])];
const longest = 300_000 + Math.max(OPERATIONS, PAST_OPERATIONS) * 1_000;

it.each(runs as [number, number][])(
  "SEED=%i, %i operations under faults",
  { timeout: longest },
  async (seed, count) => {
    console.log(`chaos: SEED=${seed}`);
    const stopReceiver = receiver(generator(seed));
    const resetClock = await anyStorage(installClock);
    try {
      const before = injected.count;
      const { done, struck } = await work(seed, count);
      const figures = { seed, operations: done, faults: struck, storage_failures: injected.count - before };
      console.log(`chaos: ${JSON.stringify(figures)}`);
      expect(Object.keys(done).toSorted()).toEqual(names.slice(0, count).toSorted());
    } finally {
      stopReceiver();
      resetClock();
    }
  },
);

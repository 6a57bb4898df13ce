/**
 * Every Durable Object restarts at random moments, as at a deploy, while clients of all parts work: no client sees a
 * failure, nothing is lost, and nothing comes twice. `ABORTS=500` is the thorough form; SEED repeats it.
 */
import { abortAllDurableObjects } from "cloudflare:test";
import { expect, it } from "vitest";
import { pause } from "../support/aborts.ts";
import { newCaller } from "../support/caller.ts";
import { seeded } from "../support/random.ts";
import { engines } from "./engines.ts";

const ABORTS = Number(process.env.ABORTS || 12);

it(`${ABORTS} restarts under all parts`, { timeout: 120_000 + ABORTS * 5_000 }, async () => {
  const random = seeded("chaos");
  const caller = await newCaller();
  const done: Record<string, number> = {};
  const restarts = { over: false };
  const clients = Object.entries(engines).map(async ([name, work]) => {
    // Each works at least once, and pauses: objects that are always busy leave no moment to restart them.
    do {
      await work(caller);
      done[name] = (done[name] ?? 0) + 1;
      await pause(random.between(100, 400));
    } while (!restarts.over);
  });
  const restart = async () => {
    for (let i = 0; i < ABORTS; i += 1) {
      await pause(random.between(200, 1_200));
      await abortAllDurableObjects();
    }
    restarts.over = true;
  };
  const all = Promise.all(clients);
  await Promise.all([Promise.race([restart(), all]), all]);
  console.log(`chaos: ${ABORTS} restarts, ${JSON.stringify(done)}`);
  expect(Object.keys(done).toSorted()).toEqual(Object.keys(engines).toSorted());
});

/**
 * Clients of all parts work while a seed chooses faults: every Durable Object restarts, alarms come early, messages arrive
 * twice, receivers and stores fail. No client sees a failure, nothing is lost, and nothing comes twice.
 *
 * `OPERATIONS=20000` is the thorough form (`npm run test:soak`). SEED repeats the choices; the moments differ.
 */
import { expect, it } from "vitest";
import { pause } from "../support/aborts.ts";
import { generator, seeded, SEED } from "../support/random.ts";
import { engines } from "./engines.ts";
import { faults } from "./faults.ts";
import { expectAtRest, newClient, receiver } from "./world.ts";

const OPERATIONS = Number(process.env.OPERATIONS || 60);
/** Clients that work at the same time, each in a workspace of its own. */
const CLIENTS = 12;

it(`${OPERATIONS} operations under faults`, { timeout: 180_000 + OPERATIONS * 1_000 }, async () => {
  const random = seeded("chaos");
  const names = Object.keys(engines);
  const done: Record<string, number> = {};
  const struck: Record<string, number> = {};
  const clients = await Promise.all(Array.from({ length: CLIENTS }, (_, i) => newClient(generator(SEED + 1 + i))));
  const stopReceiver = receiver(generator(SEED));
  let started = 0;
  const working = clients.map(async (client) => {
    while (started < OPERATIONS) {
      // Each engine works once, then the seed chooses.
      const name = names[started < names.length ? started : client.random.between(0, names.length)] ?? "";
      started += 1;
      await engines[name]?.(client);
      done[name] = (done[name] ?? 0) + 1;
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
  stopReceiver();
  console.log(`chaos: SEED=${SEED}, operations ${JSON.stringify(done)}, faults ${JSON.stringify(struck)}`);
  expect(Object.keys(done).toSorted()).toEqual(names.slice(0, OPERATIONS).toSorted());
});

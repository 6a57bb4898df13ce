/**
 * Every effect of the trace platform, one at a time: it fails, its answer is lost, or a restart follows it. The work is then
 * carried out again, as clients, queues and alarms do. Nothing is lost, doubled or left behind. `ONLY='an export'` runs a scenario.
 */
import { describe, expect, it } from "vitest";
import { forgetExports } from "../../exports/support.ts";
import { newCaller } from "../../support/caller.ts";
import { generator, createRandom } from "../../support/random.ts";
import { ALL, SOAK, pickCases } from "../../support/thorough.ts";
import { PLAIN } from "./dimensions.ts";
import { type Effect, failOnce, type Fault, restartOnce, watch } from "./effects.ts";
import { type Scenario, SCENARIOS } from "./scenarios.ts";
import { Weir } from "./weir.ts";
import { World } from "./world.ts";

type On = (effect: Effect) => boolean;

const HAPPENINGS: Record<string, (on: On) => Fault> = {
  fails: (on) => failOnce(on),
  "loses its answer": (on) => failOnce(on, "after"),
  "is followed by a restart": restartOnce,
};

/** Which effects have another happening outside of a soak: `SEED` turns it. */
const TURN = Number(process.env.SEED || 0);
/** In `npm test` the happenings take turns. Otherwise each effect fails, and the others take turns; a soak tries all. */
const isTried = (at: number, n: number) =>
  SOAK || (ALL && n === 0) || (at + TURN) % Object.keys(HAPPENINGS).length === n;
/** Effects of a scenario that `npm test` tries. */
const POINTS = 5;
/** Work is carried out this often until it succeeds. */
const TRIES = 4;
/** Effects that change nothing, and what a request does before its work. */
const IGNORED =
  /^(d1 (select|with) |d1 update api_keys|r2 (get|head)|object (query|which|stats|threads|series|holds|children))/;

/** Ids that no other trial has. */
let seed = Number(process.env.SEED || 1) * 1_000;

async function prepareScenario({ given, prepare }: Scenario) {
  await forgetExports();
  const world = new World(
    { ...PLAIN, ...given },
    new Weir(await newCaller()),
    createRandom(generator(seed++)),
    Date.now() * 1000,
  );
  return { world, ...(await prepare(world)) };
}

/** The effects of a scenario's work by name, each with its number among those of its name. */
async function listPoints(scenario: Scenario): Promise<{ name: string; n: number }[]> {
  const { world, work, check } = await prepareScenario(scenario);
  const names: string[] = [];
  const stop = watch({
    on: ({ name }) => !IGNORED.test(name),
    before: ({ name }) => void names.push(name),
  });
  await work().finally(stop);
  await check();
  expect(world.differences, `${scenario.name} without a fault`).toEqual([]);
  return names.map((name, at) => ({ name, n: names.slice(0, at).filter((one) => one === name).length }));
}

/** What differs when this happens at this point. */
async function trial(
  scenario: Scenario,
  point: { name: string; n: number },
  happens: (on: On) => Fault,
): Promise<string[]> {
  const { world, work, check } = await prepareScenario(scenario);
  let left = point.n;
  const fault = happens(({ name }) => name === point.name && left-- === 0);
  try {
    for (let tries = 1; ; tries += 1) {
      try {
        await work();
        break;
      } catch (error) {
        if (tries === TRIES) return [`the work fails again: ${String(error)}`];
      }
    }
  } finally {
    fault.stop();
  }
  if (!fault.isDone()) return ["the work does not come to it"];
  await check();
  return world.differences;
}

describe.each(SCENARIOS.filter(({ name }) => !process.env.ONLY || process.env.ONLY === name))("$name", (scenario) => {
  it("is whole after a fault at each of its effects", { timeout: 300_000 }, async () => {
    const found: string[] = [];
    let walked = 0;
    const points = pickCases(await listPoints(scenario), POINTS);
    const happenings = Object.entries(HAPPENINGS);
    for (const [at, point] of points.entries()) {
      for (const [n, [happening, happens]] of happenings.entries()) {
        if (!isTried(at, n)) continue;
        walked += 1;
        const differences = await trial(scenario, point, happens);
        const place = `${point.name}${point.n > 0 ? ` (${point.n + 1})` : ""} ${happening}`;
        if (process.env.LOUD) console.log(`faults: ${scenario.name}: ${place}`);
        found.push(...differences.map((one) => `${place}: ${one.slice(0, 300)}`));
      }
    }
    console.log(`faults: ${JSON.stringify({ scenario: scenario.name, points: points.length, faults: walked })}`);
    expect(points.length).toBeGreaterThan(0);
    expect(found).toEqual([]);
  });
});

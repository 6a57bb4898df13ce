/** Carries out a case on the product and on the model, and compares after its steps. */
import type { Caller } from "../../support/caller.ts";
import { generator, createRandom } from "../../support/random.ts";
import { arrive, changeProject, fill, keepTrace, makeProjects, share } from "./arrivals.ts";
import { compareAll, compareChanged, compareRest } from "./comparisons.ts";
import { type Case, PLAIN } from "./dimensions.ts";
import { exportRuns } from "./exports.ts";
import { arriveAfterwards, remove } from "./removals.ts";
import { Weir } from "./weir.ts";
import { World } from "./world.ts";

export interface Failure {
  given: Case;
  /** What differs, after the name of its step. */
  reasons: string[];
}

type Step = [name: string, work: (world: World) => Promise<unknown>];

const before: Step[] = [
  ["encrypt", ({ weir, given }) => (given.secrets === "open" ? Promise.resolve() : weir.replaceKey())],
  ["make the projects", makeProjects],
  ["fill the day", fill],
  ["runs arrive", arrive],
  ["compare what arrived", compareAll],
  ["another key", ({ weir, given }) => (given.secrets === "rotated" ? weir.replaceKey() : Promise.resolve())],
  ["share", share],
  ["change the project", changeProject],
  ["keep a trace", keepTrace],
  ["compare what is changed", compareChanged],
  ["export", (world) => world.note(() => exportRuns(world))],
];

/** What failed, or undefined. A step that cannot be carried out ends the case. */
export async function runCase(given: Case, caller: Caller, seed: number, today: number): Promise<Failure | undefined> {
  const world = new World(given, new Weir(caller), createRandom(generator(seed)), today);
  const reasons: string[] = [];
  const step = async <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const began = performance.now();
    try {
      return await work();
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      reasons.push(`${name}: ${(process.env.LOUD && reason.stack) || reason.message}`);
      throw error;
    } finally {
      reasons.push(...world.differences.splice(0).map((reason) => `${name}: ${reason}`));
      if (process.env.LOUD === "steps") console.log(`oracle-step: ${Math.round(performance.now() - began)} ${name}`);
    }
  };
  try {
    for (const [name, work] of before) await step(name, () => work(world));
    const doomed = await step("delete", () => remove(world));
    await step("more arrives", () => arriveAfterwards(world, doomed));
    await step("compare what is left", () => compareRest(world));
  } catch {
    // Noted by its step.
  }
  return reasons.length === 0 ? undefined : { given, reasons };
}

/** The case as its values that are not plain. */
export const formatCase = (given: Case): string =>
  Object.entries(given)
    .filter(([name, value]) => PLAIN[name as keyof Case] !== value)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ") || "plain";

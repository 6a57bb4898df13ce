/** Carries out cases beside the model, and shrinks those that fail. */
import { graphs } from "../../src/graphs/index.ts";
import type { Caller } from "../support/caller.ts";
import { generator, randomOf } from "../support/random.ts";
import { type Case, type Dimension, excluded, PLAIN } from "./dimensions.ts";
import * as gates from "./gates.ts";
import { build, type Shape } from "./graphs.ts";
import { Model } from "./model.ts";
import { programOf } from "./program.ts";
import type { SharedClock } from "./shared-clock.ts";
import { type Owed, owedBy } from "./traces.ts";
import { Weir } from "./weir.ts";
import { World } from "./world.ts";

export interface Failure {
  given: Case;
  /** The step that failed, and what differs there. */
  step: string;
  reason: string;
}

const shapeOf = ({ pause, values }: Case): Shape => ({ pause, delta: values === "delta", edits: values === "edited" });

interface Place {
  caller: Caller;
  graphId: string;
  clock: SharedClock;
  seed: number;
  /** Takes the traces that the case's runs must have. */
  owed: Owed[];
}

/** Runs the case on a graph of its own. What failed, or undefined. */
export async function runCase(
  given: Case,
  { caller, graphId, clock, seed, owed }: Place,
): Promise<Failure | undefined> {
  const shape = shapeOf(given);
  graphs[graphId] = build(shape);
  const weir = new Weir(caller, graphId, shape);
  const model = new Model(shape.pause, shape.edits ?? false);
  const world = new World(weir, model, given, randomOf(generator(seed)), clock);
  let at = "";
  try {
    for (const { name, work } of programOf(given)) {
      at = name;
      const began = performance.now();
      await work(world);
      if (process.env.LOUD === "steps") console.log(`oracle-step: ${Math.round(performance.now() - began)} ${name}`);
    }
    owed.push(owedBy(world));
    return undefined;
  } catch (error) {
    return { given, step: at, reason: error instanceof Error ? error.message : String(error) };
  } finally {
    gates.open(graphId);
  }
}

/** The values of a failed case that matter: each is made plain while the case still fails at the same step. */
export async function shrunk(failure: Failure, again: (given: Case) => Promise<Failure | undefined>): Promise<Failure> {
  let least = failure;
  for (const name of Object.keys(PLAIN) as Dimension[]) {
    if (least.given[name] === PLAIN[name]) continue;
    const given = { ...least.given, [name]: PLAIN[name] };
    if (excluded(given)) continue;
    least = (await again(given)) ?? least;
  }
  return least;
}

/** The case as its values that are not plain. */
export const shown = (given: Case): string =>
  Object.entries(given)
    .filter(([name, value]) => PLAIN[name as Dimension] !== value)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ") || "plain";

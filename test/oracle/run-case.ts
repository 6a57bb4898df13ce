/** Carries out cases beside the model, and shrinks those that fail. */
import { graphs } from "../../src/deployment.ts";
import type { Caller } from "../support/caller.ts";
import { generator, createRandom } from "../support/random.ts";
import { type Case, type Dimension, findExclusion, PLAIN } from "./dimensions.ts";
import * as gates from "./gates.ts";
import { build, type Shape } from "./graphs.ts";
import { Model } from "./model.ts";
import { toOtherGraph } from "./others.ts";
import { createProgram } from "./program.ts";
import { endLimit, limit } from "./slots.ts";
import type { SharedClock } from "./shared-clock.ts";
import { type Owed, listOwed } from "./traces.ts";
import { Weir } from "./weir.ts";
import { World } from "./world.ts";

export interface Failure {
  given: Case;
  /** The step that failed, and what differs there. */
  step: string;
  reason: string;
  /** The steps until then, by their place in the program. */
  steps?: number[];
}

const toShape = ({ pause, values, form }: Case): Shape => ({
  pause,
  form,
  delta: values === "delta",
  edits: values === "edited",
});

interface Place {
  caller: Caller;
  graphId: string;
  clock: SharedClock;
  seed: number;
  /** Takes the traces that the case's runs must have. */
  owed: Owed[];
}

/** Runs the case on a graph of its own, or only these steps of it. What failed, or undefined. */
export async function runCase(
  given: Case,
  { caller, graphId, clock, seed, owed }: Place,
  only?: readonly number[],
): Promise<Failure | undefined> {
  const shape = toShape(given);
  graphs[graphId] = build(shape);
  if (given.other === "run") graphs[toOtherGraph(graphId)] = build({ ...shape, pause: "none", form: "nodes" });
  const weir = new Weir(caller, graphId, shape);
  const model = new Model(shape.pause, shape.edits ?? false, shape.form, shape.delta);
  const world = new World(weir, model, given, createRandom(generator(seed)), clock);
  let at = "";
  const steps: number[] = [];
  try {
    if (given.slots !== "none") await limit(caller, graphId);
    for (const [place, { name, work }] of createProgram(given).entries()) {
      if (only && !only.includes(place)) continue;
      at = name;
      steps.push(place);
      const began = performance.now();
      await work(world);
      if (process.env.LOUD === "steps") console.log(`oracle-step: ${Math.round(performance.now() - began)} ${name}`);
    }
    at = "the end";
    if (given.slots !== "none") await endLimit(caller, graphId);
    owed.push(listOwed(world));
    return undefined;
  } catch (error) {
    return { given, step: at, reason: error instanceof Error ? error.message : String(error), steps };
  } finally {
    gates.open(graphId);
  }
}

type Again = (given: Case, only?: readonly number[]) => Promise<Failure | undefined>;

/** The failed case with the values that matter, and then with the steps that do: the others are left out while it still fails. */
export async function shrinkFailure(failure: Failure, again: Again): Promise<Failure> {
  let least = failure;
  for (const name of Object.keys(PLAIN) as Dimension[]) {
    if (least.given[name] === PLAIN[name]) continue;
    const given = { ...least.given, [name]: PLAIN[name] };
    if (findExclusion(given)) continue;
    const plainer = await again(given);
    if (plainer && toKind(plainer.reason) === toKind(least.reason)) least = plainer;
  }
  for (const place of (least.steps ?? []).slice(0, -1).toReversed()) {
    const { given, step, reason, steps = [] } = least;
    const fewer = await again(
      given,
      steps.filter((one) => one !== place),
    );
    if (fewer?.step === step && toKind(fewer.reason) === toKind(reason)) least = fewer;
  }
  return least;
}

/** What a reason says without the values in it. */
const toKind = (reason: string): string => reason.split(/ is | must /)[0] ?? "";

/** The failure as the command that repeats it, its steps, and what differs. */
export function report({ given, step, reason, steps = [] }: Failure): string {
  const names = createProgram(given).map(({ name }) => name);
  return [
    `ONLY='${formatCase(given)}' STEPS=${steps.join()} npm run test:workers -- test/oracle/pairs.test.ts`,
    ...steps.map((place) => `    ${names[place]}`),
    `  at: ${step}`,
    `  ${reason}`,
  ].join("\n");
}

/** The case as its values that are not plain. */
export const formatCase = (given: Case): string =>
  Object.entries(given)
    .filter(([name, value]) => PLAIN[name as Dimension] !== value)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ") || "plain";

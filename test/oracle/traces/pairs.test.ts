/**
 * Every pair of hard states of the trace platform, beside a model of what it must be: docs/semantics.md#the-trace-platform.
 * `SEED=…` repeats the cases, `CASES=…` sets how many a soak tries, `ONLY='values: names, …; …'` runs these.
 */
import { expect, it } from "vitest";
import { inParallel } from "../../../src/lib/parallel.ts";
import { forgetExports } from "../../exports/support.ts";
import { newCaller } from "../../support/caller.ts";
import { ALL, chooseAmount, SOAK } from "../../support/thorough.ts";
import { coveringArray, excludedIn } from "../covering.ts";
import { type Case, type Dimension, PLAIN, SPACE } from "./dimensions.ts";
import { type Failure, runCase, formatCase } from "./run-case.ts";

/** The pairs of CI are the same each time. */
const SEED = Number(process.env.SEED || 1);
const ATTEMPTS = 3;
/** Cases that work at the same time. */
const AT_ONCE = 4;
const SHRINK = process.env.SHRINK === "true";

function chooseCases(): { cases: Case[]; tuples: number } {
  const only = process.env.ONLY;
  if (!only) {
    const many = { attempts: SOAK ? 1 : ATTEMPTS, most: chooseAmount("CASES", ALL ? Infinity : 4, 2_000) };
    const { cases, tuples } = coveringArray(SPACE, SOAK ? 3 : 2, SEED, many);
    return { cases: cases as Case[], tuples };
  }
  const cases = only.split(/; */).map((one) => {
    const parts = one.split(/, */).map((part) => part.split(/: */) as [string, string]);
    return { ...PLAIN, ...Object.fromEntries(parts) };
  });
  return { cases, tuples: 0 };
}

const { cases, tuples } = chooseCases();

/** The engine of an export serves all workspaces, and a restart is one of all objects. */
const isAlone = (given: Case) => given.export !== "none" || given.trouble === "restart";

/** The values of a failed case that matter: each is made plain while the case still fails. */
async function shrinkFailure(failure: Failure, again: (given: Case) => Promise<Failure | undefined>): Promise<Failure> {
  let least = failure;
  for (const name of Object.keys(PLAIN) as Dimension[]) {
    const given = { ...least.given, [name]: PLAIN[name] };
    if (least.given[name] === PLAIN[name] || excludedIn(SPACE, given)) continue;
    const failed = await again(given);
    if (failed) least = failed;
  }
  return least;
}

it(
  `${cases.length} cases leave what the model says (SEED=${SEED})`,
  { timeout: 60_000 + cases.length * 20_000 },
  async () => {
    const began = performance.now();
    const today = Date.now() * 1000;
    const failures: Failure[] = [];
    const tryCase = async (given: Case, n: number) => {
      const from = performance.now();
      const run = async (one: Case) => runCase(one, await newCaller(), SEED + n, today);
      const failure = await run(given);
      if (process.env.LOUD) console.log(`oracle: ${n} ${Math.round(performance.now() - from)} ms ${formatCase(given)}`);
      if (!failure) return;
      const least = SHRINK ? await shrinkFailure(failure, run) : failure;
      console.log([`oracle: FAILED ${formatCase(least.given)}`, ...least.reasons].join("\n  "));
      failures.push(least);
    };
    const numbered = [...cases.entries()];
    await inParallel(
      numbered.filter(([, given]) => !isAlone(given)),
      AT_ONCE,
      ([n, given]) => tryCase(given, n),
    );
    for (const [n, given] of numbered.filter(([, one]) => isAlone(one))) {
      await forgetExports();
      await tryCase(given, n);
    }
    const seconds = Math.round((performance.now() - began) / 1000);
    console.log(`oracle: ${JSON.stringify({ cases: cases.length, tuples, seconds, failed: failures.length })}`);
    expect(failures.map(({ given }) => formatCase(given))).toEqual([]);
  },
);

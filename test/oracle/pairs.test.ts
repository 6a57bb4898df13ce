/**
 * Every pair of hard states of a thread, beside a model of what a thread must be: docs/semantics.md. A failed case is shrunk
 * to its least values and steps with `SHRINK=true`, and printed as the command that repeats it. `SEED=…` repeats the cases,
 * `CASES=…` sets how many a soak tries, `ONLY='kind: cron, …; …'` runs these, with `STEPS=…` only these steps of them.
 */
import { expect, it } from "vitest";
import { graphs } from "../../src/deployment.ts";
import { makeKey } from "../support/encryption.ts";
import { anyStorage } from "../chaos/faults.ts";
import { newCaller } from "../support/caller.ts";
import { installClock } from "../support/clock.ts";
import { ALL, chooseAmount, SOAK } from "../support/thorough.ts";
import { coveringArray } from "./covering.ts";
import { type Case, DIMENSIONS, PLAIN, SPACE } from "./dimensions.ts";
import { toNoteGraph, toOtherGraph } from "./others.ts";
import { build, buildNote } from "./graphs.ts";
import { LATE_MS } from "./patience.ts";
import { receive } from "./receiver.ts";
import { type Failure, report, runCase, formatCase, shrinkFailure } from "./run-case.ts";
import { SharedClock } from "./shared-clock.ts";
import { type Owed, wrongTraces } from "./traces.ts";

/** The pairs of CI are the same each time. */
const SEED = Number(process.env.SEED || 1);
/** Cases that work at the same time, and workspaces that they share. */
const AT_ONCE = 8;
const WORKSPACES = 4;
/** What is wrong and is not mended, with why: the list can only get shorter. `shows`: the case and what differs. */
const KNOWN: { shows: RegExp; because: string }[] = [
  {
    shows: /values: edited.*durability: exit.* must be /,
    because: "With `exit`, what a node has changed in place and returned is stored as it was before.",
  },
  {
    shows: /stop: (?:kill after stop|timeout).*durability: exit.*the result of /,
    because: "A run that stored nothing before its process stopped has the values of its stream as its result.",
  },
];

const SHRINK = process.env.SHRINK === "true";
const STEPS = process.env.STEPS?.split(",").map(Number);

function chooseCases(): { cases: Case[]; tuples: number } {
  const only = process.env.ONLY;
  if (!only) {
    const { cases, tuples } = coveringArray(SPACE, SOAK ? 3 : 2, SEED, {
      most: chooseAmount("CASES", ALL ? Infinity : 4, 2_000),
    });
    return { cases: cases as Case[], tuples };
  }
  const cases = only.split(/; */).map((one) => {
    const parts = one === "plain" ? [] : one.split(/, */).map((part) => part.split(/: */) as [string, string]);
    return { ...PLAIN, ...Object.fromEntries(parts) };
  });
  return { cases, tuples: 0 };
}

const announce = ({ given, step, reason }: Failure): void =>
  console.log(`oracle: FAILED ${formatCase(given)}\n  at: ${step}\n  ${reason}`);

const { cases, tuples } = chooseCases();

it(
  `${cases.length} cases leave what the model says (SEED=${SEED})`,
  { timeout: 60_000 + cases.length * 20_000 },
  async () => {
    const began = performance.now();
    const stopReceiver = receive();
    const resetClock = await anyStorage((storage) => installClock(storage, LATE_MS));
    // All at once: each change of the deployed graphs makes the default assistants again.
    const toId = (n: number) => `oracle-${n}`;
    for (const [n, { other }] of cases.entries()) {
      graphs[toId(n)] = build({ pause: "none" });
      if (other === "none") continue;
      graphs[toOtherGraph(toId(n))] = build({ pause: "none" });
      graphs[toNoteGraph(toId(n))] = buildNote();
    }
    try {
      const newCallers = () => Promise.all(Array.from({ length: WORKSPACES }, newCaller));
      const [open, sealed] = [await newCallers(), await newCallers()];
      await Promise.all(sealed.map(makeKey));
      const clock = new SharedClock(AT_ONCE);
      const failures: Failure[] = [];
      const owed: Owed[] = [];
      const run = async (given: Case, n: number, steps: readonly number[] | undefined = STEPS) => {
        const caller = (given.secrets === "open" ? open : sealed)[n % WORKSPACES];
        return caller && runCase(given, { caller, graphId: toId(n), clock, seed: SEED + n, owed }, steps);
      };
      await Promise.all(
        cases.map((given, n) =>
          clock.work(async () => {
            const began = performance.now();
            const failure = await run(given, n);
            const ms = Math.round(performance.now() - began);
            if (process.env.LOUD) console.log(`oracle: ${n} ${ms} ms ${formatCase(given)}`);
            if (!failure) return;
            const why = KNOWN.find(({ shows }) => shows.test(`${formatCase(given)} ${failure.reason}`));
            if (why) {
              console.log(`oracle: known: ${why.because} ${formatCase(given)}`);
              return;
            }
            announce(failure);
            failures.push(SHRINK ? await shrinkFailure(failure, (less, steps) => run(less, n, steps)) : failure);
          }),
        ),
      );
      const wrong = await wrongTraces(owed);
      for (const failure of wrong) announce(failure);
      failures.push(...wrong);
      const seconds = Math.round((performance.now() - began) / 1000);
      const dimensions = Object.keys(DIMENSIONS).length;
      const counts = { cases: cases.length, dimensions, tuples, seconds, failed: failures.length };
      console.log(`oracle: ${JSON.stringify(counts)}`);
      for (const failure of failures) console.log(`oracle: ${report(failure)}`);
      expect(failures.map(({ given }) => formatCase(given))).toEqual([]);
    } finally {
      stopReceiver();
      resetClock();
      for (const n of cases.keys())
        for (const id of [toId(n), toOtherGraph(toId(n)), toNoteGraph(toId(n))]) delete graphs[id];
    }
  },
);

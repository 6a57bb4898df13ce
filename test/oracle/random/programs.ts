/**
 * Random programs: a program is a list of steps, a step is a few words, and every number in it chooses among what is there when the
 * step comes. So a part of a program is a program, which is how one that fails is shrunk, and its text repeats it.
 *
 * `SEED=1,2,3` runs others, `PROGRAM='linear: say, resume 3'` runs one, `CASES=…` sets how many a soak tries of each kind.
 */
import { type Random, createRandom, generator, SEED } from "../../support/random.ts";
import { chooseAmount } from "../../support/thorough.ts";
import { Mismatch } from "../world.ts";

export type Step = readonly string[];

export interface Program {
  /** What it is carried out on. */
  kind: string;
  steps: Step[];
}

/** Carries a program out. It throws a Mismatch where a law does not hold. */
export type Carry = (program: Program) => Promise<void>;

export const formatProgram = ({ kind, steps }: Program): string =>
  `${kind}: ${steps.map((step) => step.join(" ")).join(", ")}`;

function parseProgram(text: string): Program {
  const [kind = "", steps = ""] = text.split(/: */);
  return { kind, steps: steps.split(/, */).map((step) => step.split(" ")) };
}

/** The one of `all` that a word of a step chooses; undefined of none. */
export const choose = <T>(all: readonly T[], word: string | undefined): T | undefined =>
  all[Number(word ?? 0) % Math.max(1, all.length)];

/** Programs of each kind: those of CI are the same each time. */
export function choosePrograms(
  kinds: readonly string[],
  make: (random: Random) => Step[],
  few: number,
  many: number,
): Program[] {
  if (process.env.PROGRAM) return process.env.PROGRAM.split(/; */).map(parseProgram);
  const count = chooseAmount("CASES", few, many);
  const given = process.env.SEED?.split(",").map(Number);
  const seeds = given && given.length > 1 ? given : Array.from({ length: count }, (_, i) => (given?.[0] ?? SEED) + i);
  console.log(`random programs: SEED=${seeds.length > 3 ? `${seeds[0]} … ${seeds.at(-1)}` : seeds.join()}`);
  return kinds.flatMap((kind, n) =>
    seeds.map((seed) => ({ kind, steps: make(createRandom(generator(seed * 7919 + n))) })),
  );
}

/** What a mismatch says without the values in it. */
const toLaw = (reason: string): string => reason.split(/ is | must |: /)[0]?.replaceAll(/\d+/g, "") ?? "";

async function fails(carry: Carry, program: Program): Promise<string | undefined> {
  try {
    await carry(program);
    return undefined;
  } catch (error) {
    return error instanceof Mismatch ? error.message : String((error as Error).stack ?? error);
  }
}

/** The program without the steps that its failure does not need. */
async function shrink(carry: Carry, program: Program, reason: string): Promise<{ program: Program; reason: string }> {
  let least = { program, reason };
  for (let at = program.steps.length - 1; at >= 0; at -= 1) {
    const less = { ...least.program, steps: least.program.steps.toSpliced(at, 1) };
    const again = await fails(carry, less);
    if (again !== undefined && toLaw(again) === toLaw(reason)) least = { program: less, reason: again };
  }
  return least;
}

/** A failure that is known to be one, with why it is left. `shows`: a part of what its mismatch says. */
export interface Known {
  shows: RegExp;
  because: string;
}

/** Carries the programs out, `atOnce` at the same time. The failures that are not known, each with a command that repeats it. */
export async function carryAll(
  file: string,
  programs: readonly Program[],
  carry: Carry,
  { atOnce, known = [] }: { atOnce: number; known?: readonly Known[] },
): Promise<string[]> {
  const began = performance.now();
  const failures: string[] = [];
  const met = new Map<Known, number>();
  const left = [...programs];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) {
      if (process.env.LOUD) console.log(`random programs: begins ${formatProgram(next)}`);
      const reason = await fails(carry, next);
      if (process.env.LOUD) console.log(`random programs: ends ${formatProgram(next)} ${reason ?? ""}`);
      if (reason === undefined) continue;
      const why = known.find(({ shows }) => shows.test(`${formatProgram(next)} ${reason}`));
      if (why) {
        met.set(why, (met.get(why) ?? 0) + 1);
        continue;
      }
      const least = process.env.SHRINK === "false" ? { program: next, reason } : await shrink(carry, next, reason);
      failures.push(`PROGRAM='${formatProgram(least.program)}' npm run test:workers -- ${file}\n  ${least.reason}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`random programs: ${JSON.stringify({ programs: programs.length, seconds, failed: failures.length })}`);
  for (const [{ because }, times] of met) console.log(`random programs: known, ${times} times: ${because}`);
  for (const failure of failures) console.log(`random programs: FAILED ${failure}`);
  return failures;
}

import { SOAK } from "./thorough.ts";

/** Random numbers that a seed repeats. Set SEED to run a failed test again. */

export interface Random {
  seed: number;
  /** 0 <= x < 1 */
  next(): number;
  /** A whole number from `low` to below `high`. */
  between(low: number, high: number): number;
}

/** Numbers from 0 to below 1 (mulberry32): the same seed gives the same ones. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The seed of this run: SEED, or in a soak the clock. `npm test` makes the same choices each time, so that it fails by a change only. */
export const SEED = Number(process.env.SEED || (SOAK ? Date.now() % 1_000_000_000 : 1));

/** Seeded by `SEED`; the seed is printed. */
export function seeded(name: string): Random {
  console.log(`${name}: SEED=${SEED}`);
  return createRandom(generator(SEED));
}

/** Choices by these numbers from 0 to below 1. */
export function createRandom(next: () => number): Random {
  return { seed: SEED, next, between: (low, high) => low + Math.floor(next() * (high - low)) };
}

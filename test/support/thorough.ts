/**
 * How much the tests try. `npm test` leaves out the files that end in `.slow.test.ts`, and tries a part of long tables of cases.
 * `npm run test:all` tries all of both. `npm run test:soak` repeats operations, kills and requests far more often, too.
 */

export const SOAK = process.env.SOAK === "true";
/** Whether all files and all cases are tried. */
export const ALL = SOAK || process.env.ALL_TESTS === "true";

/** How long `expect.poll` and `vi.waitFor` wait. A run under the load of other tests takes longer than the second of Vitest's default. */
export const POLL_MS = 20_000;

/** All cases, or in `npm test` `count` of them: the first, the last, and others evenly between. */
export function pickCases<T>(cases: readonly T[], count: number): T[] {
  if (ALL || cases.length <= count) return [...cases];
  const chosen = Array.from({ length: count }, (_, i) => Math.round((i * (cases.length - 1)) / Math.max(1, count - 1)));
  return cases.filter((_, i) => chosen.includes(i));
}

/** The environment variable of this name, or `few`, or in a soak `many`. */
export function chooseAmount(name: string, few: number, many: number): number {
  return Number(process.env[name] || (SOAK ? many : few));
}

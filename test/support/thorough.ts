/** How much the tests try: a part of the cases in `npm test`, all of them in `npm run test:soak`. */

export const SOAK = process.env.SOAK === "true";

/** All cases in a soak. Otherwise `count` of them: the first, the last, and others evenly between. */
export function someOf<T>(cases: readonly T[], count: number): T[] {
  if (SOAK || cases.length <= count) return [...cases];
  const chosen = Array.from({ length: count }, (_, i) => Math.round((i * (cases.length - 1)) / Math.max(1, count - 1)));
  return cases.filter((_, i) => chosen.includes(i));
}

/** The environment variable of this name, or `few`, or in a soak `many`. */
export function amount(name: string, few: number, many: number): number {
  return Number(process.env[name] || (SOAK ? many : few));
}

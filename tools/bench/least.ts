/** The least load of a bench, with which CI runs each: its servers start, its calls answer, its counts are those of any load. */

/** BENCH_LEAST is set. */
export const isLeast = (): boolean => Boolean(process.env.BENCH_LEAST);

/** How much of something a bench does. */
export const chooseAmount = (whole: number, least: number): number => (isLeast() ? least : whole);

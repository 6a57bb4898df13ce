/** The least load of a bench, with which CI runs each: its servers start, its calls answer, its counts are those of any load. */

/** How much of something a bench does: `least` where BENCH_LEAST is set. */
export const amount = (whole: number, least: number): number => (process.env.BENCH_LEAST ? least : whole);

/** The order of runs by a figure. Those without it come last in either order; runs with the same one are in the order of their ids. */

/** What runs can be sorted by, besides their start. */
export const RANKED = ["latency", "total_tokens", "total_cost"] as const;

export interface RankPosition {
  figure: number | null;
  id: string;
}

/** The first runs in the order of a figure, behind a position. */
export interface Ranking {
  by: (typeof RANKED)[number];
  order: "asc" | "desc";
  after: RankPosition | null;
  limit: number;
}

/** `bytes`: of what a query gives of the run. */
export interface RankedRun extends RankPosition {
  bytes: number;
}

export function compareFigures(order: "asc" | "desc", a: number | null, b: number | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (a === b) return 0;
  return a < b === (order === "asc") ? -1 : 1;
}

export function compareRanked(order: "asc" | "desc", a: RankPosition, b: RankPosition): number {
  const byId = a.id === b.id ? 0 : a.id < b.id === (order === "asc") ? -1 : 1;
  return compareFigures(order, a.figure, b.figure) || byId;
}

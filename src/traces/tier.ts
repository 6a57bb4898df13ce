/** The tier of a run as SQL: that of its project, unless its trace is kept for longer (partition/kept.ts). `tier` is SQL. */
export const tierSql = (runs: string, tier: string): string =>
  `CASE WHEN ${runs}.trace_id IN (SELECT trace_id FROM kept) THEN 'longlived' ELSE ${tier} END`;

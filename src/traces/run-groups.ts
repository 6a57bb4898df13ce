/**
 * Groups: runs of one trace with consecutive numbers, which one transaction has inserted. Only the first run of a group is in
 * the index of traces, and not when it is a root with the id of its trace, because each entry of an index is a row that is billed. Its column
 * `followers` is the number of runs behind it in the group; theirs is -1. A run whose place is derived is in a group of its own: its trace can change.
 */

/** A run that the index of traces has: a root with the id of its trace is found by that id (run-ids.ts). */
export const IN_TRACES = "followers >= 0 AND (timed = 1 OR id <> trace_id)";

/** The numbers of the runs of the traces with the ids that a SELECT gives in its column `id`. */
export const numbersOfTraces = (select: string): string =>
  `(SELECT f.n FROM (${select}) g CROSS JOIN runs l ON l.n IN (
      SELECT i.n FROM runs i WHERE ${IN_TRACES} AND i.trace_id = g.id UNION ALL
      SELECT i.n FROM runs i WHERE i.timed = 0 AND i.followers >= 0 AND i.id = g.id AND i.trace_id = g.id)
    CROSS JOIN runs f ON f.n BETWEEN l.n AND l.n + l.followers WHERE f.trace_id = g.id)`;

/** The same for the ids in a JSON list, which is its one bound value. */
export const OF_TRACES = numbersOfTraces("SELECT value AS id FROM json_each(?)");

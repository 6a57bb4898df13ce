/**
 * Groups: runs of one trace with consecutive numbers, which one transaction has inserted. Only the first run of a group is in
 * the index of traces, because each entry of an index is a row that is billed. Its column
 * `followers` is the number of runs behind it in the group; theirs is -1. A run whose place is derived is in a group of its own: its trace can change.
 */

/** The numbers of the runs of some traces, as a list in SQL. `traces` is SQL for their ids. */
export function numbersOfTraces(traces: string): string {
  return `(SELECT f.n FROM runs l CROSS JOIN runs f ON f.n BETWEEN l.n AND l.n + l.followers
    WHERE l.followers >= 0 AND l.trace_id ${traces} AND f.trace_id = l.trace_id)`;
}

/** The same for the ids in a JSON list, which is its one bound value. */
export const OF_TRACES = numbersOfTraces("IN (SELECT value FROM json_each(?))");

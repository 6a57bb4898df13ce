/**
 * How a run is found by its id. Each entry of an index is a row that is billed, so the index of ids leaves out the runs below a root
 * whose id is a UUIDv7 of the millisecond in which they started: their column `timed` is 1, and the index of starts finds them. Weir's
 * own traces and those of the LangSmith SDK for JavaScript have such ids.
 */
import { uuidTime } from "../../time.ts";

/**
 * Whether the start is the time in the id. A start near it is not enough: all runs of a stretch of time would be read for each
 * id, and thousands can start at once.
 */
export const isTimed = (id: string, start: number): boolean => uuidTime(id) === start;

const DIGITS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13];

/** The time in a UUIDv7, microseconds, as SQL: its first twelve digits are milliseconds. */
function timeIn(id: string): string {
  const digit = (place: number) => `(instr('0123456789abcdef', substr(${id}, ${place}, 1)) - 1)`;
  const sum = DIGITS.map((place, i) => `${digit(place)} * ${16 ** (DIGITS.length - 1 - i)}`).join(" + ");
  return `(${sum}) * 1000`;
}

/** The number of the run with an id, as a list in SQL. `id` is SQL without a bound value. */
export function numbersOfId(id: string): string {
  return `(SELECT i.n FROM runs i WHERE i.timed = 0 AND i.id = ${id} UNION ALL
    SELECT i.n FROM runs i WHERE i.timed = 1 AND i.start_time = ${timeIn(id)} AND i.id = ${id})`;
}

/** The numbers of the runs with the ids that a SELECT gives in its column `id`. */
export const numbersOfIds = (select: string): string =>
  `(SELECT o.n FROM (${select}) g CROSS JOIN runs o ON o.n IN ${numbersOfId("g.id")})`;

/** The same for the ids in a JSON list, which is its one bound value. */
export const OF_IDS = numbersOfIds("SELECT value AS id FROM json_each(?)");

// Groups: runs of one trace with consecutive numbers, which one transaction has inserted. Only the first run of a group is in
// the index of traces, and not when it is a root with the id of its trace, because each entry of an index is a row that is billed. Its column
// `followers` is the number of runs behind it in the group; theirs is -1. A run whose place is derived is in a group of its own: its trace can change.

/** A run that the index of traces has: a root with the id of its trace is found by that id. */
export const IN_TRACES = "followers >= 0 AND (timed = 1 OR id <> trace_id)";

/** The numbers of the runs of the traces with the ids that a SELECT gives in its column `id`. */
export const numbersOfTraces = (select: string): string =>
  `(SELECT f.n FROM (${select}) g CROSS JOIN runs l ON l.n IN (
      SELECT i.n FROM runs i WHERE ${IN_TRACES} AND i.trace_id = g.id UNION ALL
      SELECT i.n FROM runs i WHERE i.timed = 0 AND i.followers >= 0 AND i.id = g.id AND i.trace_id = g.id)
    CROSS JOIN runs f ON f.n BETWEEN l.n AND l.n + l.followers WHERE f.trace_id = g.id)`;

/** The same for the ids in a JSON list, which is its one bound value. */
export const OF_TRACES = numbersOfTraces("SELECT value AS id FROM json_each(?)");

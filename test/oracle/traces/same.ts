/** How answers and the model are compared. */
import { difference } from "../views.ts";
import { isObject, toText, type Value, parseValue } from "./json.ts";

export type Json = { [key: string]: Value };

/** Series count durations in steps of 5 %, so a percentile is exact to half of one. */
const STEP = 0.026;
/** Times of answers have microseconds. */
const LEAST = 1e-5;

/** The wanted number when the real one is close to it, else the real one. */
export const near = (real: Value | undefined, wanted: number | null): Value =>
  typeof real === "number" && wanted !== null && Math.abs(real - wanted) <= Math.abs(wanted) * STEP + LEAST
    ? wanted
    : (real ?? null);

/** The feedback of a run or a set of runs: how many of each key, and their mean. */
export function pickFeedback(stats: Value | undefined): Json {
  const keys = Object.entries(isObject(stats) ? stats : {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(
    keys.map(([key, one]): [string, Value] => {
      const { n = null, avg = null } = one as Json;
      return [key, { n, avg }];
    }),
  );
}

/** The members of an answer that the model has. */
export const pickMembers = (real: Json, model: object): Json =>
  Object.fromEntries(Object.keys(model).map((key) => [key, real[key] ?? null]));

/** @throws Error that says what differs first */
export function expectSame(what: string, real: Value, wanted: Value): void {
  // Both as JSON, which has no negative zero and no lone surrogate of another spelling.
  const [a, b] = [real, wanted].map((value) => toText(parseValue(toText(value)))) as [string, string];
  if (a === b) return;
  const [seen, model] = [JSON.parse(a) as unknown, JSON.parse(b) as unknown];
  throw new Error(`${what}: ${difference(seen, model) ?? findDifference(a, b)}`);
}

/** Where two texts part: what `difference` does not see of exact integers. */
function findDifference(real: string, wanted: string): string {
  const [a, b] = [Array.from(real), Array.from(wanted)];
  const at = a.findIndex((char, n) => char !== b[n]);
  const cutAround = (text: string[]) => text.slice(Math.max(0, at - 40), at + 40).join("");
  return `…${cutAround(a)}…, must be …${cutAround(b)}…`;
}

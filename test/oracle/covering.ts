/** A covering array: few cases that contain every possible pair (or triple) of values, made greedily. */
import { generator, type Random, randomOf } from "../support/random.ts";
import { type Case, type Dimension, DIMENSIONS, EXCLUSIONS, HEAVY } from "./dimensions.ts";

const names = Object.keys(DIMENSIONS) as Dimension[];
/** Every value of every dimension. A value's number is its place. */
const values = names.flatMap((name, at) => DIMENSIONS[name].map((value) => ({ at, value: value as string })));
const numbersOf = names.map((_, at) => values.flatMap((one, n) => (one.at === at ? [n] : [])));
const isHeavy = values.map(({ value }) => (HEAVY as readonly string[]).includes(value));
const clashes = EXCLUSIONS.map(({ when }) =>
  Object.entries(when).map(([name, some]) => {
    const at = names.indexOf(name as Dimension);
    return { at, numbers: (numbersOf[at] ?? []).filter((n) => (some as string[]).includes(values[n]?.value ?? "")) };
  }),
);

/** Candidates of which the one that covers the most is taken. */
const CANDIDATES = 20;

/** The number of each dimension's value; undefined where it is open. */
type Row = readonly (number | undefined)[];

const clash = (row: Row): boolean =>
  clashes.some((parts) => parts.every(({ at, numbers }) => numbers.includes(row[at] ?? -1)));

/** The names of the combinations of `strength` values in the row that contain the value `must`, if given. */
function tuplesOf(row: Row, strength: number, must?: number): number[] {
  const set = row.filter((n) => n !== undefined && n !== must) as number[];
  const combine = (from: number, left: number): number[][] =>
    left === 0 ? [[]] : set.slice(from).flatMap((n, i) => combine(from + i + 1, left - 1).map((rest) => [n, ...rest]));
  const all = must === undefined ? combine(0, strength) : combine(0, strength - 1).map((rest) => [must, ...rest]);
  return all.map((tuple) => tuple.toSorted((a, b) => a - b).reduce((name, n) => name * values.length + n, 0));
}

/** A whole row with the values of `row`, each chosen for the most combinations in `left`. Undefined when there is none. */
function complete(row: Row, strength: number, left: ReadonlySet<number>, random: Random): Row | undefined {
  if (clash(row)) return undefined;
  const open = names.flatMap((_, at) => (row[at] === undefined ? [at] : []));
  if (open.length === 0) return row;
  const at = open[random.between(0, open.length)] as number;
  const ranked = (numbersOf[at] ?? []).map((n) => {
    const gain = tuplesOf(row, strength, n).filter((tuple) => left.has(tuple)).length;
    return { n, rank: gain + random.next() - (isHeavy[n] ? 1 : 0) };
  });
  for (const { n } of ranked.toSorted((a, b) => b.rank - a.rank)) {
    const whole = complete(row.with(at, n), strength, left, random);
    if (whole) return whole;
  }
  return undefined;
}

/** Every combination of `strength` values that a whole case can contain, with a row of these values. */
function possible(strength: number, random: Random): Map<number, Row> {
  let parts: Row[] = [names.map(() => undefined)];
  const found = new Map<number, Row>();
  for (const at of names.keys()) {
    const longer = parts.flatMap((part) => (numbersOf[at] ?? []).map((n) => part.with(at, n)));
    const size = (row: Row) => row.filter((n) => n !== undefined).length;
    for (const row of longer.filter((one) => size(one) === strength))
      if (complete(row, 0, new Set(), random)) found.set(tuplesOf(row, strength)[0] as number, row);
    parts = [...parts, ...longer.filter((row) => size(row) < strength)];
  }
  return found;
}

function greedy(all: Map<number, Row>, strength: number, random: Random, most: number): Row[] {
  const left = new Set(all.keys());
  const rows: Row[] = [];
  while (left.size > 0 && rows.length < most) {
    const wanted = [...left];
    const gain = (row: Row) => tuplesOf(row, strength).filter((tuple) => left.has(tuple)).length;
    const candidates = Array.from({ length: CANDIDATES }, () => {
      const row = all.get(wanted[random.between(0, wanted.length)] as number) as Row;
      return complete(row, strength, left, random) as Row;
    }).map((row) => ({ row, gain: gain(row) }));
    const best = candidates.reduce((a, b) => (b.gain > a.gain ? b : a)).row;
    for (const tuple of tuplesOf(best, strength)) left.delete(tuple);
    rows.push(best);
  }
  return rows;
}

const caseOf = (row: Row): Case =>
  Object.fromEntries(names.map((name, at) => [name, values[row[at] as number]?.value])) as Case;

/**
 * Cases that contain every possible combination of `strength` values, and how many combinations there are. The smallest of
 * several `attempts`; of `most` cases at most.
 */
export function coveringArray(
  strength: number,
  seed: number,
  { attempts = 1, most = Infinity } = {},
): { cases: Case[]; tuples: number } {
  const random = randomOf(generator(seed));
  const all = possible(strength, random);
  const arrays = Array.from({ length: attempts }, () => greedy(all, strength, random, most));
  const weight = (rows: Row[]) => rows.length + rows.flat().filter((n) => n !== undefined && isHeavy[n]).length / 2;
  const best = arrays.reduce((a, b) => (weight(b) < weight(a) ? b : a));
  return { cases: best.map(caseOf), tuples: all.size };
}

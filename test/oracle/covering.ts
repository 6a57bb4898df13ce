/** A covering array: few cases that contain every possible pair (or triple) of values, made greedily. */
import { generator, type Random, createRandom } from "../support/random.ts";

/** The dimensions of an oracle, the values that cannot occur together, and those whose cases take long. */
export interface Space {
  dimensions: Readonly<Record<string, readonly string[]>>;
  exclusions: readonly { when: Readonly<Record<string, readonly string[]>>; because: string }[];
  heavy: readonly string[];
}

/** Candidates of which the one that covers the most is taken. */
const CANDIDATES = 20;

/** The number of each dimension's value; undefined where it is open. */
type Row = readonly (number | undefined)[];

/** Makes covering arrays of one space. */
class Cover {
  readonly #names: string[];
  /** Every value of every dimension. A value's number is its place. */
  readonly #values: { at: number; value: string }[];
  readonly #valueNumbers: number[][];
  readonly #isHeavy: boolean[];
  readonly #clashes: { at: number; numbers: number[] }[][];

  constructor({ dimensions, exclusions, heavy }: Space) {
    this.#names = Object.keys(dimensions);
    this.#values = this.#names.flatMap((name, at) => (dimensions[name] ?? []).map((value) => ({ at, value })));
    this.#valueNumbers = this.#names.map((_, at) => this.#values.flatMap((one, n) => (one.at === at ? [n] : [])));
    this.#isHeavy = this.#values.map(({ value }) => heavy.includes(value));
    this.#clashes = exclusions.map(({ when }) =>
      Object.entries(when).map(([name, some]) => {
        const at = this.#names.indexOf(name);
        const numbers = (this.#valueNumbers[at] ?? []).filter((n) => some.includes(this.#values[n]?.value ?? ""));
        return { at, numbers };
      }),
    );
  }

  #clash(row: Row): boolean {
    return this.#clashes.some((parts) => parts.every(({ at, numbers }) => numbers.includes(row[at] ?? -1)));
  }

  /** The names of the combinations of `strength` values in the row that contain the value `must`, if given. */
  #listTuples(row: Row, strength: number, must?: number): number[] {
    const set = row.filter((n) => n !== undefined && n !== must) as number[];
    const combine = (from: number, left: number): number[][] =>
      left === 0
        ? [[]]
        : set.slice(from).flatMap((n, i) => combine(from + i + 1, left - 1).map((rest) => [n, ...rest]));
    const all = must === undefined ? combine(0, strength) : combine(0, strength - 1).map((rest) => [must, ...rest]);
    return all.map((tuple) => tuple.toSorted((a, b) => a - b).reduce((name, n) => name * this.#values.length + n, 0));
  }

  /** A whole row with the values of `row`, each chosen for the most combinations in `left`. Undefined when there is none. */
  #complete(row: Row, strength: number, left: ReadonlySet<number>, random: Random): Row | undefined {
    if (this.#clash(row)) return undefined;
    const open = this.#names.flatMap((_, at) => (row[at] === undefined ? [at] : []));
    if (open.length === 0) return row;
    const at = open[random.between(0, open.length)] as number;
    const ranked = (this.#valueNumbers[at] ?? []).map((n) => {
      const gain = left.size === 0 ? 0 : this.#listTuples(row, strength, n).filter((tuple) => left.has(tuple)).length;
      return { n, rank: gain + random.next() - (this.#isHeavy[n] ? 1 : 0) };
    });
    for (const { n } of ranked.toSorted((a, b) => b.rank - a.rank)) {
      const whole = this.#complete(row.with(at, n), strength, left, random);
      if (whole) return whole;
    }
    return undefined;
  }

  /** Every combination of `strength` values that a whole case can contain, with a row of these values. */
  listPossible(strength: number, random: Random): Map<number, Row> {
    let parts: Row[] = [this.#names.map(() => undefined)];
    const found = new Map<number, Row>();
    for (const at of this.#names.keys()) {
      const longer = parts.flatMap((part) => (this.#valueNumbers[at] ?? []).map((n) => part.with(at, n)));
      const size = (row: Row) => row.filter((n) => n !== undefined).length;
      for (const row of longer.filter((one) => size(one) === strength))
        if (this.#complete(row, 0, new Set(), random)) found.set(this.#listTuples(row, strength)[0] as number, row);
      parts = [...parts, ...longer.filter((row) => size(row) < strength)];
    }
    return found;
  }

  chooseGreedily(all: Map<number, Row>, strength: number, random: Random, most: number): Row[] {
    const left = new Set(all.keys());
    const rows: Row[] = [];
    while (left.size > 0 && rows.length < most) {
      const wanted = [...left];
      const countGain = (row: Row) => this.#listTuples(row, strength).filter((tuple) => left.has(tuple)).length;
      const candidates = Array.from({ length: CANDIDATES }, () => {
        const row = all.get(wanted[random.between(0, wanted.length)] as number) as Row;
        return this.#complete(row, strength, left, random) as Row;
      }).map((row) => ({ row, gain: countGain(row) }));
      const best = candidates.reduce((a, b) => (b.gain > a.gain ? b : a)).row;
      for (const tuple of this.#listTuples(best, strength)) left.delete(tuple);
      rows.push(best);
    }
    return rows;
  }

  toCase(row: Row): Record<string, string> {
    return Object.fromEntries(this.#names.map((name, at) => [name, this.#values[row[at] as number]?.value ?? ""]));
  }

  /** The number of cases, and half of that of heavy values in them. */
  weighRows(rows: readonly Row[]): number {
    return rows.length + rows.flat().filter((n) => n !== undefined && this.#isHeavy[n]).length / 2;
  }
}

/**
 * Cases that contain every possible combination of `strength` values, and how many combinations there are. The smallest of
 * several `attempts`; of `most` cases at most.
 */
export function coveringArray(
  space: Space,
  strength: number,
  seed: number,
  { attempts = 1, most = Infinity } = {},
): { cases: Record<string, string>[]; tuples: number } {
  const random = createRandom(generator(seed));
  const cover = new Cover(space);
  const all = cover.listPossible(strength, random);
  const arrays = Array.from({ length: attempts }, () => cover.chooseGreedily(all, strength, random, most));
  const best = arrays.reduce((a, b) => (cover.weighRows(b) < cover.weighRows(a) ? b : a));
  return { cases: best.map((row) => cover.toCase(row)), tuples: all.size };
}

/** Why the case cannot be; undefined when it can. Dimensions that are not set may have any value. */
export function excludedIn(
  { exclusions }: Space,
  given: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const hit = exclusions.find(({ when }) =>
    Object.entries(when).every(([dimension, values]) => values.includes(given[dimension] ?? "")),
  );
  return hit?.because;
}

/** Many hostile runs, a portion at a time: what a client sends of it, and the rows that an export of it has. */
import { generator, createRandom } from "../../support/random.ts";
import { DIMENSIONS, PLAIN } from "./dimensions.ts";
import { modelRow, type Texts } from "./exported-row.ts";
import { Project } from "./model.ts";
import { Programs } from "./programs.ts";
import type { Run, Write } from "./run.ts";

const { values: VALUES, times: TIMES } = DIMENSIONS;

/** Traces of four runs, and runs that say little. One in four of the long values is one of 280 KB in R2. */
const TRACES = 195;
const LONG_TRACES = 5;
const FILLERS = 20;

export interface Portion {
  /** Requests, in their order. The patches of a portion come with its posts, after them or before them. */
  requests: { post: Write[]; patch: Write[] }[];
  /** The rows of an export of its runs, by id. */
  rows: (session: string) => Map<string, Texts>;
}

/** This many runs in portions: in turn each kind of values at each kind of times. */
export function* generatePortions(count: number, project: string, today: number): Generator<Portion> {
  for (let n = 0, left = count; left > 0; n += 1) {
    const writes = generateWrites(n, left, project, today);
    left -= writes.filter(({ kind }) => kind === "post").length;
    yield createPortion(n, writes, project);
  }
}

function generateWrites(n: number, most: number, project: string, today: number): Write[] {
  const values = VALUES[n % VALUES.length] ?? PLAIN.values;
  const times = TIMES[n % TIMES.length] ?? PLAIN.times;
  const programs = new Programs({ ...PLAIN, values, times }, project, createRandom(generator(n)), today);
  const traces = Math.min(values === "long" ? LONG_TRACES : TRACES, Math.floor(most / 4));
  return [...programs.traces(traces), ...programs.fillers(Math.min(FILLERS, most - traces * 4))];
}

function createPortion(n: number, writes: readonly Write[], project: string): Portion {
  const filterWrites = (wanted: Write["kind"]) => writes.filter(({ kind }) => kind === wanted);
  const [post, patch] = [filterWrites("post"), filterWrites("patch")];
  const apart = [
    { post, patch: [] },
    { post: [], patch },
  ];
  const together = [{ post, patch }];
  const orders = [together, apart, together, apart.toReversed()];
  return {
    requests: orders[n % orders.length] ?? apart,
    rows: (session) => {
      const model = new Project(project);
      model.take(writes);
      const trees = Map.groupBy(model.runs, ({ traceId }) => traceId);
      const toRow = (run: Run) => modelRow(run, trees.get(run.traceId) ?? [], { session, tier: model.readTier(run) });
      return new Map(model.runs.map((run) => [run.id, toRow(run)]));
    },
  };
}

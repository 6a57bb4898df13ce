/** The runs of a trace as the rows of a tree, and as bars in time. */
import type { Span } from "./types.ts";

export interface Row {
  run: Span;
  /** Its parent's id, where that is in the tree. */
  parent: string | undefined;
  /** From 1. */
  level: number;
  /** Its place among its siblings, from 1. */
  place: number;
  of: number;
  parents: boolean;
  open: boolean;
}

/** The rows in view, parents before children. A run whose parent is not there stands at the top. */
export function rowsOf(runs: Span[], closed: ReadonlySet<string>): Row[] {
  const known = new Set(runs.map((run) => run.id));
  const children = new Map<string | undefined, Span[]>();
  for (const run of runs) {
    const parent = run.parent_run_ids.at(-1);
    const under = parent !== undefined && known.has(parent) ? parent : undefined;
    const siblings = children.get(under);
    if (siblings) siblings.push(run);
    else children.set(under, [run]);
  }
  const rows: Row[] = [];
  const todo = rowsUnder(undefined, 1);
  for (let row = todo.pop(); row; row = todo.pop()) {
    rows.push(row);
    // A chain of thousands of runs would be too deep to recurse.
    if (row.parents && row.open) for (const child of rowsUnder(row.run.id, row.level + 1)) todo.push(child);
  }
  return rows;

  /** Last first. */
  function rowsUnder(parent: string | undefined, level: number): Row[] {
    const siblings = children.get(parent) ?? [];
    const of = siblings.length;
    return siblings
      .map((run, i) => {
        return { run, parent, level, place: i + 1, of, parents: children.has(run.id), open: !closed.has(run.id) };
      })
      .toReversed();
  }
}

/** The time that a trace takes, in milliseconds since epoch. */
export interface Time {
  from: number;
  to: number;
  /** When it was read: what runs has a bar until then. */
  now: number;
}

const beginning = (run: Span) => Date.parse(run.start_time);
const end = (run: Span, now: number) =>
  run.latency_seconds === null ? Math.max(now, beginning(run)) : beginning(run) + run.latency_seconds * 1000;

/** From the beginning of the first run to the end of the last; what runs goes on until now. */
export function timeOf(runs: Span[], now: number): Time {
  let [from, to] = [Infinity, -Infinity];
  for (const run of runs) {
    from = Math.min(from, beginning(run));
    to = Math.max(to, end(run, now));
  }
  return { from, to, now };
}

/** Where in the time of the trace a run lies, in hundredths. */
export function barOf(run: Span, { from, to, now }: Time): { left: number; width: number } {
  const whole = Math.max(1, to - from);
  const left = ((beginning(run) - from) / whole) * 100;
  return { left, width: ((end(run, now) - beginning(run)) / whole) * 100 };
}

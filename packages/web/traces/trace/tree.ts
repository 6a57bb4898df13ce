/** The runs of a trace as the rows of a tree, and as bars in time. */
import type { Span } from "../types.ts";

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

/** The rows in view, parents before children. A run without its parent is at the top. */
export function listRows(runs: Span[], closed: ReadonlySet<string>): Row[] {
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

/** From the beginning of the first run to the end of the last. An open run lasts until now. */
export function measureTime(runs: Span[], now: number): Time {
  let [from, to] = [Infinity, -Infinity];
  for (const run of runs) {
    from = Math.min(from, beginning(run));
    to = Math.max(to, end(run, now));
  }
  return { from, to, now };
}

/** The position of a run in the time of the trace, in percent. */
export function placeBar(run: Span, { from, to, now }: Time): { left: number; width: number } {
  const whole = Math.max(1, to - from);
  const left = ((beginning(run) - from) / whole) * 100;
  return { left, width: ((end(run, now) - beginning(run)) / whole) * 100 };
}

/** Percent of the width that a label takes. */
const LABEL = 20;

/** Where the label of a bar is: after it, before it, or on its end where there is no room beside it; and from which side, in percent. */
export function placeLabel({ left, width }: { left: number; width: number }): {
  side: "after" | "before" | "on";
  at: number;
} {
  const [begin, end] = [left, left + width].map((at) => Math.min(100, Math.max(0, at))) as [number, number];
  if (end <= 100 - LABEL) return { side: "after", at: end };
  return begin >= LABEL ? { side: "before", at: 100 - begin } : { side: "on", at: 100 - end };
}

/** Seconds until the first token of a model; undefined for other runs. */
export function readFirstToken({ run_type, start_time, first_token_time }: Span): number | undefined {
  if (run_type.toLowerCase() !== "llm" || first_token_time === null) return undefined;
  return Math.max(0, Date.parse(first_token_time) - Date.parse(start_time)) / 1000;
}

/** The runs that failed by themselves: those of which no run below failed. In the order of the tree. */
export function listFailures(rows: Row[]): string[] {
  const failed = rows.filter(({ run }) => run.status.toUpperCase() === "ERROR");
  const above = new Set(failed.flatMap(({ run }) => run.parent_run_ids));
  return failed.flatMap(({ run }) => (above.has(run.id) ? [] : [run.id]));
}

/** How many runs failed below each run. */
export function failedBelow(runs: Span[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const run of runs) {
    if (run.status.toUpperCase() !== "ERROR") continue;
    for (const parent of run.parent_run_ids) counts.set(parent, (counts.get(parent) ?? 0) + 1);
  }
  return counts;
}

/** The ids of the runs that a text is found in: their name, type or id. In the order of the tree. */
export function findMatches(rows: Row[], text: string): string[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  return rows.flatMap(({ run }) =>
    `${run.name} ${run.run_type} ${run.id}`.toLowerCase().includes(wanted) ? [run.id] : [],
  );
}

/** The one after (or before) the run in this order, around the end. */
export function neighbour(
  ids: string[],
  order: ReadonlyMap<string, number>,
  from: string,
  by: 1 | -1,
): string | undefined {
  const at = order.get(from) ?? -1;
  const after = (id: string) => (order.get(id) ?? 0) - at;
  if (by === 1) return ids.find((id) => after(id) > 0) ?? ids[0];
  return ids.findLast((id) => after(id) < 0) ?? ids.at(-1);
}

/** At most six round times, in milliseconds since the begin of the trace, within a window of it. */
export function placeTicks(from: number, to: number): number[] {
  const width = Math.max(1, to - from);
  const power = 10 ** Math.floor(Math.log10(width / 5));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => width / one <= 6) ?? width;
  const ticks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push(at);
  return ticks;
}

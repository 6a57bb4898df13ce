/** The course of a trace as a graph: the steps of its root by name, and which followed which. */
import type { Span } from "../types.ts";

interface Step {
  name: string;
  /** The first run of this name. */
  run: string;
  count: number;
  failed: number;
  seconds: number;
}

interface Course {
  steps: Step[];
  /** How often a step followed another. */
  edges: { from: string; to: string; count: number }[];
}

/** A step of the root with its times in milliseconds. `place`: its place by its beginning. */
interface Timed {
  run: Span;
  place: number;
  begin: number;
  end: number;
}

/** The steps below a run by their beginning. */
function timed(runs: Span[], root: string): Timed[] {
  return runs
    .filter((run) => run.parent_run_ids.at(-1) === root)
    .map((run) => ({ run, begin: Date.parse(run.start_time), seconds: run.latency_seconds ?? Infinity }))
    .sort((a, b) => a.begin - b.begin)
    .map(({ run, begin, seconds }, place) => ({ run, place, begin, end: begin + seconds * 1000 }));
}

/** The steps below a run. A step follows those that ended before it began and that no other step came between. */
export function traceCourse(runs: Span[], root: string): Course {
  const children = timed(runs, root);
  // Two steps that have not ended differ by NaN.
  const byEnd = children.toSorted((a, b) => a.end - b.end || a.place - b.place);
  const steps = new Map<string, Step>();
  const edges = new Map<string, Course["edges"][number]>();
  let ended = 0;
  let latestBegin = -Infinity;
  let before: Timed[] = [];
  for (const { run, place, begin } of children) {
    const failed = Number(run.status.toUpperCase() === "ERROR");
    const step = steps.get(run.name);
    if (step) {
      step.count += 1;
      step.failed += failed;
      step.seconds += run.latency_seconds ?? 0;
    } else steps.set(run.name, { name: run.name, run: run.id, count: 1, failed, seconds: run.latency_seconds ?? 0 });
    const first = ended;
    while (ended < byEnd.length && byEnd[ended]!.end <= begin && byEnd[ended]!.place < place) ended++;
    if (ended > first) {
      const fresh = byEnd.slice(first, ended);
      latestBegin = fresh.reduce((latest, one) => Math.max(latest, one.begin), latestBegin);
      before = [...before, ...fresh].filter((one) => one.end > latestBegin || one.begin === latestBegin);
    }
    for (const { run: follows } of before) {
      const from = follows.name;
      const key = JSON.stringify([from, run.name]);
      const edge = edges.get(key);
      if (edge) edge.count += 1;
      else edges.set(key, { from, to: run.name, count: 1 });
    }
  }
  return { steps: [...steps.values()], edges: [...edges.values()] };
}

/** The course of a trace as a graph: the steps of its root by name, and which followed which. */
import type { Span } from "./types.ts";

export interface Step {
  name: string;
  /** The first run of this name. */
  run: string;
  count: number;
  failed: number;
  seconds: number;
}

export interface Course {
  steps: Step[];
  /** How often a step followed another. */
  edges: { from: string; to: string; count: number }[];
}

const begin = (run: Span) => Date.parse(run.start_time);
const end = (run: Span) => (run.latency_seconds === null ? Infinity : begin(run) + run.latency_seconds * 1000);

/** The steps below a run. A step follows those that ended before it began and that no other step came between. */
export function courseOf(runs: Span[], root: string): Course {
  const children = runs.filter((run) => run.parent_run_ids.at(-1) === root).sort((a, b) => begin(a) - begin(b));
  const steps = new Map<string, Step>();
  const edges = new Map<string, Course["edges"][number]>();
  for (const run of children) {
    const failed = Number(run.status.toUpperCase() === "ERROR");
    const step = steps.get(run.name);
    if (step) {
      step.count += 1;
      step.failed += failed;
      step.seconds += run.latency_seconds ?? 0;
    } else steps.set(run.name, { name: run.name, run: run.id, count: 1, failed, seconds: run.latency_seconds ?? 0 });
    const ended = children.filter((one) => one !== run && end(one) <= begin(run));
    const latestBegin = Math.max(...ended.map(begin));
    const before = ended.filter((one) => end(one) > latestBegin || begin(one) === latestBegin);
    for (const { name: from } of before) {
      const key = JSON.stringify([from, run.name]);
      const edge = edges.get(key);
      if (edge) edge.count += 1;
      else edges.set(key, { from, to: run.name, count: 1 });
    }
  }
  return { steps: [...steps.values()], edges: [...edges.values()] };
}

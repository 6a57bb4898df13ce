/** The course of a run as a graph: a box for each step, in the order in which they came. */
import { graphlib, layout } from "@dagrejs/dagre";
import { useMemo } from "react";
import { Empty } from "../../resources/states.tsx";
import { countText, durationText } from "../../ui/format.ts";
import { Fitted } from "./Fitted.tsx";
import { traceCourse } from "./graph.ts";
import css from "./graph.module.css";
import type { Span } from "../types.ts";

const WIDTH = 168;
const HEIGHT = 44;

export default function Graph({
  runs,
  chosen,
  onChoose,
}: {
  runs: Span[];
  chosen: string;
  onChoose: (id: string) => void;
}) {
  const root = runs[0];
  const drawn = useMemo(() => {
    if (!root) return undefined;
    const course = traceCourse(runs, root.id);
    const graph = new graphlib.Graph();
    graph.setGraph({ rankdir: "TB", nodesep: 24, ranksep: 36, marginx: 4, marginy: 4 });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const { name } of course.steps) graph.setNode(name, { width: WIDTH, height: HEIGHT });
    for (const { from, to } of course.edges) graph.setEdge(from, to);
    layout(graph);
    return { course, graph, ...(graph.graph() as { width: number; height: number }) };
  }, [runs, root]);
  if (!drawn || drawn.course.steps.length === 0)
    return (
      <div className={css.box}>
        <Empty
          title="This run has no steps."
          text="The graph shows the runs below the root run, and this trace has none. The tree shows the root run."
        />
      </div>
    );
  const { course, graph, width, height } = drawn;
  return (
    <Fitted label="Graph of the run" width={width} height={height}>
      <div className={css.canvas}>
        <svg width={width} height={height} aria-hidden>
          <defs>
            <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path d="M0 0 8 4 0 8z" />
            </marker>
          </defs>
          {course.edges.map(({ from, to, count }) => {
            const { points } = graph.edge(from, to) as { points: { x: number; y: number }[] };
            const middle = points[Math.floor(points.length / 2)];
            return (
              <g key={`${from}→${to}`}>
                <path d={`M${points.map(({ x, y }) => `${x} ${y}`).join("L")}`} markerEnd="url(#arrow)" />
                {count > 1 && middle && (
                  <text x={middle.x + 6} y={middle.y + 4}>
                    {countText(count)}×
                  </text>
                )}
              </g>
            );
          })}
        </svg>
        {course.steps.map((step) => {
          const { x, y } = graph.node(step.name) as { x: number; y: number };
          return (
            <button
              key={step.name}
              type="button"
              className={css.step}
              style={{ left: x - WIDTH / 2, top: y - HEIGHT / 2, width: WIDTH, height: HEIGHT }}
              data-failed={step.failed > 0 || undefined}
              aria-pressed={step.run === chosen}
              title={step.name}
              onClick={() => onChoose(step.run)}
            >
              <strong>{step.name}</strong>
              <small>
                {step.count > 1 && `${countText(step.count)} runs · `}
                {durationText(step.seconds)}
                {step.failed > 0 && ` · ${countText(step.failed)} failed`}
              </small>
            </button>
          );
        })}
      </div>
    </Fitted>
  );
}

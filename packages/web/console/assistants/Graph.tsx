/** The graph of an assistant, its subgraphs in frames. The nodes that a run is at are lit. */
import { graphlib, layout } from "@dagrejs/dagre";
import { useMemo } from "react";
import { Empty, Failed, Loading } from "../../resources/states.tsx";
import { Fitted } from "../../traces/graph/Fitted.tsx";
import css from "./graph.module.css";
import { type Drawn, layOutGraph, type GraphJson, type Lights, describeGraph } from "./graph.ts";
import { type AssistantRow, useGraph } from "./queries.ts";

const HEIGHT = 36;
const ROUND = 28;
/** Pixels: of a letter, and at both sides of the name. */
const LETTER = 7.4;
const SIDES = 40;
const LEAST = 88;
const MOST = 220;

const WORDS = { running: "running", done: "done", waiting: "waits for a person", failed: "failed" };

interface Point {
  x: number;
  y: number;
}
interface Rect extends Point {
  width: number;
  height: number;
}

export function Graph({ assistant, lights }: { assistant: AssistantRow; lights: Lights }) {
  const graph = useGraph(assistant.assistant_id, assistant.version);
  if (!graph.data)
    return (
      <div className={css.box}>
        {graph.error ? (
          <Failed title="The graph did not load." error={graph.error} onRetry={() => void graph.refetch()} />
        ) : (
          <Loading rows={6} />
        )}
      </div>
    );
  return <Drawing json={graph.data} lights={lights} />;
}

function Drawing({ json, lights }: { json: GraphJson; lights: Lights }) {
  const { drawn, at, size } = useMemo(() => placed(layOutGraph(json)), [json]);
  if (drawn.boxes.length === 0)
    return (
      <div className={css.box}>
        <Empty title="This graph has no nodes." text="A graph that is a single function has no drawing." />
      </div>
    );
  return (
    <Fitted label="Graph" {...size}>
      <div className={css.canvas}>
        {drawn.groups.map(({ id, label }) => (
          <div key={id} className={css.group} style={placeBox(at.node(id) as Rect)}>
            {label}
          </div>
        ))}
        <svg width={size.width} height={size.height} aria-hidden>
          <defs>
            <marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
              <path d="M0 0 8 4 0 8z" />
            </marker>
          </defs>
          {drawn.edges.map(({ from, to, conditional, label }) => {
            const { points, ...middle } = at.edge(from, to, label) as { points: Point[] } & Partial<Point>;
            return (
              <g key={`${from}→${to}→${label}`}>
                <path d={drawCurve(points)} data-conditional={conditional || undefined} markerEnd="url(#to)" />
                {label !== undefined && middle.x !== undefined && (
                  <text x={middle.x} y={(middle.y ?? 0) + 4} textAnchor="middle">
                    {label}
                  </text>
                )}
              </g>
            );
          })}
        </svg>
        {drawn.boxes.map(({ id, label, kind }) => {
          const lamp = lights.get(id);
          return (
            <div
              key={id}
              className={css.node}
              data-kind={kind}
              data-light={lamp?.light}
              data-node={id}
              title={label}
              style={placeBox(at.node(id) as Rect)}
            >
              <span>{label}</span>
              {lamp && lamp.times > 1 && <small>{lamp.times}×</small>}
              {lamp && <span className="visually-hidden">, {WORDS[lamp.light]}</span>}
            </div>
          );
        })}
      </div>
      <ul className="visually-hidden">
        {describeGraph(drawn).map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </Fitted>
  );
}

function placed(drawn: Drawn) {
  const at = new graphlib.Graph({ compound: true, multigraph: true });
  at.setGraph({ rankdir: "TB", nodesep: 28, ranksep: 40, marginx: 4, marginy: 4 });
  for (const { id } of drawn.groups) at.setNode(id, {});
  for (const { id, label, kind } of drawn.boxes)
    at.setNode(id, {
      width: kind === "node" ? Math.min(MOST, Math.max(LEAST, label.length * LETTER + SIDES)) : 64,
      height: kind === "node" ? HEIGHT : ROUND,
    });
  for (const { id, within } of [...drawn.groups, ...drawn.boxes]) if (within !== undefined) at.setParent(id, within);
  for (const { from, to, label } of drawn.edges)
    at.setEdge(from, to, label === undefined ? {} : { width: label.length * 6.5, height: 16, labelpos: "c" }, label);
  layout(at);
  const { width = 0, height = 0 } = at.graph() as { width?: number; height?: number };
  return { drawn, at, size: { width, height } };
}

const placeBox = ({ x, y, width, height }: Rect) => ({ left: x - width / 2, top: y - height / 2, width, height });

/** A line through the points of an edge, rounded at its bends. */
function drawCurve(points: Point[]): string {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  if (!first || !last) return "";
  const bends = rest.slice(0, -1).map((point, i) => {
    const next = rest[i + 1] ?? last;
    return `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`;
  });
  return `M${first.x} ${first.y}${bends.join("")}L${last.x} ${last.y}`;
}

import {
  ChevronRight,
  Braces,
  Database,
  Link2,
  MessageSquareText,
  Sparkles,
  Wrench,
  CircleAlert,
  LoaderCircle,
} from "lucide-react";
import { type CSSProperties, memo } from "react";
import { costText, countText, durationText } from "../../ui/format.ts";
import css from "./trace.module.css";
import { type Row, type Time, placeBar, placeLabel, readFirstToken } from "./tree.ts";
import type { Span } from "../types.ts";

/** Deeper runs are not set in further. */
const DEEPEST = 12;

/** One run: what it is, and its figures or its bar in time. What can be done with it is the tree's. */
export const TreeRow = memo(function TreeRow({
  row: { run, level, place, of, parents, open },
  top,
  time,
  chosen,
  stop,
  match,
  failed,
}: {
  row: Row;
  /** Pixels. */
  top: number;
  /** The range of the timeline. */
  time: Time | undefined;
  chosen: boolean;
  /** The stop for the tab key. */
  stop: boolean;
  /** It is found by the search. */
  match: boolean;
  /** How many runs failed among those that it hides. */
  failed: number;
}) {
  const type = run.run_type.toLowerCase();
  return (
    <div
      role="treeitem"
      className={css.row}
      style={{ transform: `translateY(${top}px)`, "--depth": Math.min(level, DEEPEST) - 1 } as CSSProperties}
      data-run={run.id}
      data-status={run.status.toLowerCase()}
      data-type={type}
      data-match={match || undefined}
      aria-level={level}
      aria-posinset={place}
      aria-setsize={of}
      aria-expanded={parents ? open : undefined}
      aria-selected={chosen}
      tabIndex={stop ? 0 : -1}
    >
      <span className={css.status}>
        <Status status={run.status} />
      </span>
      <span className={css.label}>
        <span className={css.guides} aria-hidden />
        <span className={css.twist} data-twist={parents || undefined}>
          {parents && <ChevronRight size={14} aria-hidden />}
        </span>
        <Kind type={type} />
        <span className={css.name} title={run.name}>
          {run.name}
        </span>{" "}
        <span className="visually-hidden">{type}</span>
        {failed > 0 && <span className={css.inside}>{failed} failed inside</span>}
      </span>{" "}
      {time ? <Bar run={run} time={time} /> : <METRICS run={run} />}
    </div>
  );
});

/** The names of the figures, above the rows of the tree. */
export const TreeHead = () => (
  <div className={css.treeHead} aria-hidden>
    <span>Name</span>
    <span className={css.took}>Latency</span>
    <span className={css.tokens}>Tokens</span>
    <span className={css.cost}>Cost</span>
  </div>
);

const METRICS = ({ run: { latency_seconds, total_tokens, total_cost } }: { run: Span }) => (
  <>
    <span className={css.took}>{latency_seconds === null ? "running" : durationText(latency_seconds)}</span>{" "}
    <span className={css.tokens}>
      {total_tokens > 0 && (
        <>
          {countText(total_tokens)}
          <span className="visually-hidden"> tokens</span>
        </>
      )}
    </span>{" "}
    <span className={css.cost}>{total_cost !== null && total_cost > 0 && costText(total_cost)}</span>
  </>
);

/** When a run was, as a bar with how long it took. The part before the first token of a model is light, and ends in a mark. */
function Bar({ run, time }: { run: Span; time: Time }) {
  const { left, width } = placeBar(run, time);
  const { side, at } = placeLabel({ left, width });
  const first = readFirstToken(run);
  const took = run.latency_seconds;
  return (
    <span className={css.track} data-track>
      <i style={{ left: `${left}%`, width: `max(3px, ${width}%)` }}>
        {first !== undefined && took !== null && (
          <b data-first style={{ width: `${took === 0 ? 0 : Math.min(100, (first / took) * 100)}%` }} />
        )}
      </i>
      <span data-side={side} style={side === "after" ? { left: `${at}%` } : { right: `${at}%` }}>
        {left + width < 0 && <span aria-hidden>← </span>}
        {took === null ? "running" : durationText(took)}
        {left > 100 && <span aria-hidden> →</span>}
        {first !== undefined && <span className="visually-hidden"> first token after {durationText(first)}</span>}
      </span>
    </span>
  );
}

const ICONS: Record<string, typeof Link2> = {
  llm: Sparkles,
  tool: Wrench,
  retriever: Database,
  embedding: Database,
  prompt: MessageSquareText,
  parser: Braces,
};

/** The type of a run, as an icon and in a word. `type` is in lower case. */
function Kind({ type }: { type: string }) {
  const Icon = ICONS[type] ?? Link2;
  return (
    <span className={css.kind} title={type}>
      <Icon size={14} aria-hidden />
    </span>
  );
}

/** How a run went, by shape, by colour and in words. What went well needs no mark. */
export function Status({ status }: { status: string }) {
  const lower = status.toLowerCase();
  if (lower === "error")
    return (
      <span className={css.failed}>
        <CircleAlert size={14} aria-hidden />
        <span className="visually-hidden">failed</span>
      </span>
    );
  if (lower === "pending")
    return (
      <span className={css.running}>
        <LoaderCircle size={14} aria-hidden />
        <span className="visually-hidden">running</span>
      </span>
    );
  return null;
}

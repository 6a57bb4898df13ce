import { ChevronRight } from "lucide-react";
import { type CSSProperties, memo } from "react";
import { costText, countText, durationText } from "../../ui/format.ts";
import { Bar } from "./Bar.tsx";
import { Kind } from "./Kind.tsx";
import { Status } from "./Status.tsx";
import css from "./trace.module.css";
import type { Row, Time } from "./tree.ts";
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
  /** Of the timeline. */
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
      {time ? <Bar run={run} time={time} /> : <Figures run={run} />}
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

const Figures = ({ run: { latency_seconds, total_tokens, total_cost } }: { run: Span }) => (
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

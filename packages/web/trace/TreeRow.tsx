import { ChevronRight } from "lucide-react";
import { memo } from "react";
import { durationText } from "../ui/format.ts";
import { Status } from "./Status.tsx";
import css from "./trace.module.css";
import { placeBar, type Row, type Time } from "./tree.ts";

/** Deeper runs are not set in further. */
const DEEPEST = 12;

/** One run: what it is, when in the time of the trace, and how long it took. What can be done with it is the tree's. */
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
  time: Time;
  chosen: boolean;
  /** The stop for the tab key. */
  stop: boolean;
  /** It is found by the search. */
  match: boolean;
  /** How many runs failed among those that it hides. */
  failed: number;
}) {
  const { left, width } = placeBar(run, time);
  return (
    <div
      role="treeitem"
      className={css.row}
      style={{ transform: `translateY(${top}px)` }}
      data-run={run.id}
      data-status={run.status.toLowerCase()}
      data-type={run.run_type.toLowerCase()}
      data-match={match || undefined}
      aria-level={level}
      aria-posinset={place}
      aria-setsize={of}
      aria-expanded={parents ? open : undefined}
      aria-selected={chosen}
      tabIndex={stop ? 0 : -1}
    >
      <span className={css.label} style={{ paddingLeft: (Math.min(level, DEEPEST) - 1) * 14 }}>
        <span className={css.twist} data-twist={parents || undefined}>
          {parents && <ChevronRight size={14} aria-hidden />}
        </span>
        <Status status={run.status} />
        <span className={css.name} title={run.name}>
          {run.name}
        </span>{" "}
        <span className={css.type}>{run.run_type.toLowerCase()}</span>
        {failed > 0 && <span className={css.inside}>{failed} failed inside</span>}
      </span>{" "}
      <span className={css.track} aria-hidden>
        <i style={{ left: `${left}%`, width: `max(3px, ${width}%)` }} />
      </span>
      <span className={css.took}>{run.latency_seconds === null ? "running" : durationText(run.latency_seconds)}</span>
    </div>
  );
});

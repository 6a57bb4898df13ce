import { durationText } from "../../ui/format.ts";
import css from "./trace.module.css";
import { placeBar, placeLabel, readFirstToken, type Time } from "./tree.ts";
import type { Span } from "../types.ts";

/** When a run was, as a bar with how long it took. The part before the first token of a model is light, and ends in a mark. */
export function Bar({ run, time }: { run: Span; time: Time }) {
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

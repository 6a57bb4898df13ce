import { axisText } from "../ui/format.ts";
import css from "./trace.module.css";
import { placeTicks, type Time } from "./tree.ts";

/** Round times since the begin of the trace, above the bars. */
export function Axis({ time, from }: { time: Time; from: number }) {
  const width = Math.max(1, time.to - time.from);
  return (
    <div className={css.axis} aria-hidden>
      <span className={css.ticks}>
        {placeTicks(time.from - from, time.to - from).map((tick) => {
          const left = ((tick + from - time.from) / width) * 100;
          return (
            <span key={tick} style={{ left: `${left}%` }} data-last={left > 85 || undefined}>
              {axisText(tick / 1000)}
            </span>
          );
        })}
      </span>
    </div>
  );
}

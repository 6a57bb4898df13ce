import { axisText } from "../../ui/format.ts";
import css from "./trace.module.css";
import { placeTicks, type Time } from "./tree.ts";

/** Percent of the width after which the label of a tick is before it. */
const LAST = 92;

const listTicks = (time: Time, from: number) =>
  placeTicks(time.from - from, time.to - from).map((tick) => ({
    tick,
    left: ((tick + from - time.from) / Math.max(1, time.to - time.from)) * 100,
  }));

interface Props {
  /** What is in view. */
  time: Time;
  /** The begin of the trace. */
  from: number;
}

/** Round times since the begin of the trace, above the bars. */
export const Axis = ({ time, from, hasFirst }: Props & { hasFirst: boolean }) => (
  <div className={css.axis} aria-hidden>
    <span className={css.legend}>
      {hasFirst && (
        <>
          <b /> first token
        </>
      )}
    </span>
    <span className={css.ticks}>
      {listTicks(time, from).map(({ tick, left }) => (
        <span key={tick} style={{ left: `${left}%` }} data-last={left > LAST || undefined}>
          {axisText(tick / 1000)}
        </span>
      ))}
    </span>
  </div>
);

/** Lines at these times, behind the bars. */
export const TimeLines = ({ time, from }: Props) => (
  <div className={css.lines} aria-hidden>
    <span>
      {listTicks(time, from).map(({ tick, left }) => (
        <i key={tick} style={{ left: `${left}%` }} />
      ))}
    </span>
  </div>
);

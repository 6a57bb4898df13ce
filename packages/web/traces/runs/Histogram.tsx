/** How many runs began when, above the list. Drawing over it chooses that time. */
import { useRef, useState } from "react";
import css from "./facets.module.css";
import type { Course } from "./metrics.ts";
import { countText } from "../../ui/format.ts";
import { soonTime } from "../../ui/time.ts";

export function Histogram({
  course,
  onChoose,
}: {
  course: Course | undefined;
  onChoose: (from: number, to: number) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState<{ from: number; to: number }>();
  const buckets = course?.buckets ?? [];
  const highest = Math.max(1, ...buckets.map(({ run_count }) => run_count));
  const indexAt = (x: number) => {
    const { left = 0, width = 1 } = box.current?.getBoundingClientRect() ?? {};
    return Math.min(buckets.length - 1, Math.max(0, Math.floor(((x - left) / width) * buckets.length)));
  };
  const begins = buckets.map(({ start_time }) => Date.parse(start_time));
  const interval = (begins[1] ?? 0) - (begins[0] ?? 0);
  const finish = () => {
    setDrawn(undefined);
    if (!drawn || interval <= 0) return;
    const [first, last] = [Math.min(drawn.from, drawn.to), Math.max(drawn.from, drawn.to)];
    onChoose(begins[first] ?? 0, (begins[last] ?? 0) + interval);
  };
  const begin = begins[0];
  return (
    <figure className={css.histogram}>
      <div
        ref={box}
        className={css.bars}
        role="img"
        aria-label={`Runs over time, ${countText(course?.total.run_count ?? 0)} in all. Draw over it to choose a time.`}
        onPointerDown={(event) => {
          if (buckets.length < 2 || event.pointerType === "touch") return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setDrawn({ from: indexAt(event.clientX), to: indexAt(event.clientX) });
        }}
        onPointerMove={(event) => drawn && setDrawn({ ...drawn, to: indexAt(event.clientX) })}
        onPointerUp={finish}
        onPointerCancel={() => setDrawn(undefined)}
      >
        {buckets.map(({ start_time, run_count, error_count }, i) => (
          <i
            key={start_time}
            title={`${soonTime(start_time)}: ${countText(run_count)}${error_count > 0 ? `, ${countText(error_count)} failed` : ""}`}
            data-drawn={
              (drawn && i >= Math.min(drawn.from, drawn.to) && i <= Math.max(drawn.from, drawn.to)) || undefined
            }
          >
            <b style={{ height: `${(run_count / highest) * 100}%` }}>
              {error_count > 0 && <em style={{ height: `${(error_count / Math.max(1, run_count)) * 100}%` }} />}
            </b>
          </i>
        ))}
      </div>
      <figcaption>
        <span>{begin !== undefined && soonTime(begin)}</span>
        <span>{course && `${countText(course.total.run_count)} in all`}</span>
        <span>{begin !== undefined && soonTime((begins.at(-1) ?? 0) + interval)}</span>
      </figcaption>
    </figure>
  );
}

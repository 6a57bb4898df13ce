/**
 * A plot over time. All plots of a page share the cursor, and each says its values there; drawing over one chooses its time range.
 */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useEffect, useRef, useState } from "react";
import { soonTime } from "../../ui/time.ts";
import { dayText } from "../../ui/days.ts";
import { useScheme } from "../../ui/scheme.ts";
import { countLabels, durationLabels, valueLabels } from "./axis.ts";
import css from "./plot.module.css";
import { HEIGHT, type Line, plotOptions } from "./plot-options.ts";

const LABELS = { value: valueLabels, count: countLabels, duration: durationLabels };

export function Plot({
  title,
  times,
  lines,
  format,
  unit = "value",
  utc = false,
  onChoose,
}: {
  title: string;
  /** The begins of the intervals, milliseconds. */
  times: number[];
  lines: Line[];
  format: (value: number) => string;
  /** Which values the axis names: durations in seconds have steps of minutes and hours, counts have no fractions. */
  unit?: keyof typeof LABELS;
  /** The times are UTC days. */
  utc?: boolean;
  /** Left out: nothing can be drawn over the plot. */
  onChoose?: (from: number, to: number) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  // A canvas keeps the colours that it was drawn with.
  const scheme = useScheme();
  /** The interval under the pointer. */
  const [at, setAt] = useState<number>();
  const latest = useRef({ onChoose, format });
  useEffect(() => {
    latest.current = { onChoose, format };
  });
  const shape = lines.map(({ name }) => name).join();
  const data = useRef<uPlot.AlignedData>([[]]);
  data.current = [times.map((time) => time / 1000), ...lines.map(({ values }) => values)];
  const plot = useRef<uPlot>(undefined);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const interval = (times[1] ?? 0) - (times[0] ?? 0);
    plot.current = new uPlot(
      plotOptions(element, lines, latest, { interval, utc, labelsTo: LABELS[unit], onCursor: setAt }),
      data.current,
      element,
    );
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
    };
    // The effect depends on the shape of the lines: their values are set below.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [shape, scheme, times.length]);
  useEffect(() => plot.current?.setData(data.current), [times, lines]);
  const named = lines.filter(({ dashed, values }) => !dashed || values.some((value) => value !== null));
  const time = at === undefined ? undefined : times[at];
  return (
    <figure className={css.plot}>
      <figcaption>
        <span className={css.title}>{title}</span>
        {time !== undefined && (
          <span className={css.at}>{utc ? dayText(new Date(time).toISOString()) : soonTime(time)}</span>
        )}
        {(named.length > 1 || time !== undefined) &&
          named.map(({ name, ink, dashed, values }) => (
            <span key={name} className={css.key}>
              <i style={{ color: `var(${ink})` }} data-dashed={dashed} aria-hidden />
              {name}
              {at !== undefined && <b>{valueText(values[at], format)}</b>}
            </span>
          ))}
      </figcaption>
      <div ref={box} className={css.canvas} role="img" aria-label={`${title} over time. The table has the numbers.`} />
    </figure>
  );
}

const valueText = (value: number | null | undefined, format: (value: number) => string) =>
  value == null ? "–" : format(value);

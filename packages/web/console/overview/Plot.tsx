/**
 * A plot over time. All plots of a page share the cursor, and each says its values there; drawing over one chooses its time range.
 */
import "uplot/dist/uPlot.min.css";
import uPlot from "uplot";
import { useEffect, useRef, useState, type RefObject } from "react";
import { soonTime } from "../../ui/time.ts";
import { dayText } from "../../ui/days.ts";
import { useScheme, readInk } from "../../ui/device.ts";
import { countLabels, durationLabels, valueLabels, axisWidth, timeLabels } from "./axis.ts";
import css from "./plot.module.css";

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

/** How a plot is drawn: its axes, its series, the cursor that plots share, and what is drawn over it. */
export interface Line {
  name: string;
  /** A token of the look, such as `--water`. */
  ink: string;
  values: (number | null)[];
  /** Columns instead of a line: for counts. */
  columns?: boolean;
  /** Dashes: what is compared with. */
  dashed?: boolean;
}

/** Pixels. */
const HEIGHT = 120;

function plotOptions(
  element: HTMLElement,
  lines: Line[],
  latest: RefObject<{
    onChoose: ((from: number, to: number) => void) | undefined;
    format: (value: number) => string;
  }>,
  {
    interval,
    utc,
    labelsTo,
    onCursor,
  }: {
    interval: number;
    utc: boolean;
    labelsTo: (max: number) => number[];
    /** Gets the index of the interval under the pointer. */
    onCursor: (index: number | undefined) => void;
  },
): uPlot.Options {
  const font = `12px ${getComputedStyle(element).fontFamily}`;
  const axis = {
    stroke: readInk("--text-3"),
    font,
    ticks: { show: false },
    grid: { stroke: readInk("--line"), width: 1 },
  };
  const labels = timeLabels(utc);
  /** Seconds. */
  const half = interval > 0 ? interval / 2_000 : 1_800;
  return {
    width: Math.max(element.clientWidth, 100),
    height: HEIGHT,
    legend: { show: false },
    ...(utc && { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC") }),
    padding: [8, 24, 0, 0],
    cursor: {
      sync: { key: "overview" },
      points: { size: 5 },
      drag: { x: latest.current.onChoose !== undefined, y: false, setScale: false },
    },
    scales: {
      // A column stands on the begin of its interval: half of it is on either side.
      x: { range: (_plot, min, max) => [min - half, max + half] },
      y: { range: (_plot, _min, max) => [0, labelsTo(max).at(-1) ?? 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 24,
        space: 56,
        gap: 8,
        values: (_plot, splits, _axis, _space, step) => labels(splits, step),
      },
      {
        ...axis,
        size: (_plot, values: string[] | null) => axisWidth(values ?? []),
        splits: (_plot, _axis, _min, max) => labelsTo(max),
        values: (_plot, splits) => splits.map((value) => latest.current.format(value)),
      },
    ],
    series: [
      {},
      ...lines.map(({ name, ink: token, columns, dashed }) => ({
        label: name,
        stroke: readInk(token),
        width: columns ? 0 : 1.5,
        points: { show: !columns, size: dashed ? 3 : 6, fill: readInk(token) },
        ...(dashed && { dash: [4, 4] }),
        ...(columns ? { fill: readInk(token), paths: uPlot.paths.bars?.({ size: [0.7, 24] }) ?? undefined } : {}),
      })),
    ] as uPlot.Series[],
    hooks: {
      setCursor: [({ cursor }) => onCursor(cursor.idx ?? undefined)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width < 4) return;
          const from = plot.posToVal(left, "x") * 1000;
          const to = plot.posToVal(left + width, "x") * 1000;
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          // A range is whole intervals, for the figures are.
          latest.current.onChoose?.(
            Math.floor(from / interval) * interval,
            Math.max(Math.ceil(to / interval), Math.floor(from / interval) + 1) * interval,
          );
        },
      ],
    },
  };
}

/** How a plot is drawn: its axes, its series, the cursor that plots share, and what is drawn over it. */
import uPlot from "uplot";
import type { RefObject } from "react";
import { readInk } from "../../ui/scheme.ts";
import { axisWidth, timeLabels } from "./axis.ts";

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
export const HEIGHT = 120;

export function plotOptions(
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

/** The labels of a plot. */
import { dates } from "../../ui/intl.ts";

const DAY = 86_400;
/** More labels would touch each other. */
const MOST_STEPS = 4;

/** Seconds that read well below each other: "20 s", "5 min", "2 h". Below a second, and above 12 hours in days, steps are decimal. */
const DURATION_STEPS = [
  1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_200, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200,
];

/** The labels of an axis of values: from 0 in steps of 1, 2 or 5 times a power of ten, the last not below `max`. */
export function valueLabels(max: number): number[] {
  if (!(max > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(max));
  const step = power * ([0.2, 0.5, 1, 2].find((one) => max / (power * one) <= MOST_STEPS) ?? 5);
  return labelsTo(max, step);
}

/** The labels of an axis of durations, in seconds: steps of whole seconds, minutes, hours and days. */
export function durationLabels(max: number): number[] {
  if (!(max > 2)) return valueLabels(max);
  const step = DURATION_STEPS.find((one) => max / one <= MOST_STEPS);
  return step === undefined ? countLabels(max / DAY).map((days) => days * DAY) : labelsTo(max, step);
}

/** The labels of an axis of counts: no fractions. */
export const countLabels = (max: number): number[] => valueLabels(max).filter(Number.isInteger);

const labelsTo = (max: number, step: number) => Array.from({ length: Math.ceil(max / step) + 1 }, (_, i) => i * step);

/** The width of an axis whose labels have this many characters, in pixels. */
export const axisWidth = (labels: readonly string[]): number =>
  16 + 7 * Math.max(3, ...labels.map(({ length }) => length));

/** Times below a plot, on one line: the hour, and the day where a day begins. */
export function timeLabels(utc: boolean): (seconds: number[], step: number) => string[] {
  const zone = utc ? { timeZone: "UTC" } : {};
  const day = dates({ day: "numeric", month: "short", ...zone });
  const hour = dates({ hour: "numeric", ...zone });
  const minute = dates({ hour: "numeric", minute: "2-digit", ...zone });
  const begins = (at: Date) =>
    utc ? at.getTime() % (DAY * 1000) === 0 : at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0;
  return (seconds, step) =>
    seconds.map((second) => {
      const at = new Date(second * 1000);
      if (step >= DAY || begins(at)) return day.format(at);
      return (step >= 3600 ? hour : minute).format(at);
    });
}

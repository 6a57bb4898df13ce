/** The labels of a plot. */

const DAY = 86_400;
/** More labels would touch each other. */
const MOST_STEPS = 4;

/** The labels of an axis of values: from 0 in steps of 1, 2 or 5 times a power of ten, the last not below `max`. */
export function valueLabels(max: number): number[] {
  if (!(max > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(max));
  const step = power * ([0.2, 0.5, 1, 2].find((one) => max / (power * one) <= MOST_STEPS) ?? 5);
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_, i) => i * step);
}

/** Times below a plot, on one line: the hour, and the day where a day begins. */
export function timeLabels(utc: boolean): (seconds: number[], step: number) => string[] {
  const zone = utc ? { timeZone: "UTC" } : {};
  const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", ...zone });
  const hour = new Intl.DateTimeFormat(undefined, { hour: "numeric", ...zone });
  const minute = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit", ...zone });
  const begins = (at: Date) =>
    utc ? at.getTime() % (DAY * 1000) === 0 : at.getHours() === 0 && at.getMinutes() === 0 && at.getSeconds() === 0;
  return (seconds, step) =>
    seconds.map((second) => {
      const at = new Date(second * 1000);
      if (step >= DAY || begins(at)) return day.format(at);
      return (step >= 3600 ? hour : minute).format(at);
    });
}

/** Figures in words: the formats of counts, money and durations that all views use. Those of shares are in `console/share.ts`. */
import { numbers } from "./intl.ts";

const dollars = { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" } as const;
const cents = numbers(dollars);
/** An amount below a cent has two digits: they say more than "$0.00". */
const small = numbers({ ...dollars, minimumFractionDigits: 2, maximumSignificantDigits: 2 });
/** Below this, an amount is only said to be smaller. */
const LEAST = 0.000_01;
const least = numbers({ ...dollars, maximumFractionDigits: 5 });

const whole = numbers();

/** "12,345". */
export const countText = (value: number): string => whole.format(value);

const scores = numbers({ maximumFractionDigits: 3 });

/** "0.8", "0.667", "true": a score of feedback, or the mean of several. */
export const scoreText = (score: number | boolean): string =>
  typeof score === "boolean" ? String(score) : scores.format(score);

const UNITS = ["B", "kB", "MB", "GB", "TB"];

/** "0 B", "84 kB", "1.2 GB". */
export function bytesText(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** power;
  const digits = value < 10 && power > 0 ? 10 : 1;
  return `${countText(Math.round(value * digits) / digits)} ${UNITS[power]}`;
}

/** Seconds. */
const DAY = 86_400;

const withDigits = (digits: number) => numbers({ minimumFractionDigits: digits, maximumFractionDigits: digits });
const tenths = withDigits(1);
const hundredths = withDigits(2);

/** "< 1 ms", "12 ms", "1.24 s", "2 min 5 s", "2 min", "1 d 3 h". */
export function durationText(seconds: number): string {
  if (seconds < 0.0005) return "< 1 ms";
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${(seconds < 10 ? hundredths : tenths).format(seconds)} s`;
  const full = Math.round(seconds);
  if (full < 3600) return inTwo(Math.floor(full / 60), "min", full % 60, "s");
  if (full < DAY) return inTwo(Math.floor(full / 3600), "h", Math.floor((full % 3600) / 60), "min");
  return inTwo(Math.floor(full / DAY), "d", Math.floor((full % DAY) / 3600), "h");
}

const inTwo = (many: number, unit: string, rest: number, part: string) =>
  rest === 0 ? `${many} ${unit}` : `${many} ${unit} ${rest} ${part}`;

/** A duration of whole seconds: "0 s", "5 s", "2 min 5 s". */
export const secondsText = (seconds: number) =>
  Number.isInteger(seconds) && seconds < 60 ? `${seconds} s` : durationText(seconds);

/** A duration beside an axis, where the values are round: "0", "500 ms", "2 s". */
export const axisText = (seconds: number) => (seconds === 0 ? "0" : secondsText(seconds));

/** "$12.30", "$0.28", "$0.0042", "< $0.00001". */
export function costText(amount: string | number): string {
  const value = Number(amount);
  const size = Math.abs(value);
  if (size !== 0 && size < LEAST) return `< ${least.format(LEAST)}`;
  return (size === 0 || size >= 0.01 ? cents : small).format(value);
}

/** "1 run", "12,345 runs". */
export const quantityText = (count: number, one: string) => `${countText(count)} ${count === 1 ? one : `${one}s`}`;

export const tokensText = (tokens: number) => quantityText(tokens, "token");

/** The first line that says something. */
export const firstLine = (text: string) => text.trim().split("\n", 1)[0] ?? "";

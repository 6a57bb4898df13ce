/** Figures in words: the formats of counts, money, shares and durations that all views use. */
import { numbers } from "./intl.ts";

const dollars = { style: "currency", currency: "USD", currencyDisplay: "narrowSymbol" } as const;
const cents = numbers(dollars);
/** Of an amount below a cent, two figures of it say more than "$0.00". */
const small = numbers({ ...dollars, minimumFractionDigits: 2, maximumSignificantDigits: 2 });
/** Below this, an amount is only said to be smaller. */
const LEAST = 0.000_01;
const least = numbers({ ...dollars, maximumFractionDigits: 5 });

const whole = numbers();
const compact = numbers({ notation: "compact", maximumFractionDigits: 1 });
const percent = numbers({ style: "percent", maximumFractionDigits: 1 });

/** "12,345". */
export const countText = (value: number): string => whole.format(value);

/** "12.3K", where there is little room. */
export const shortCount = (value: number): string => compact.format(value);

/** "12.5%". */
export const shareText = (share: number): string => percent.format(share);

/** "12 ms", "1.24 s", "2 min 5 s", "2 min". */
export function durationText(seconds: number): string {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const full = Math.round(seconds);
  if (full < 3600) return inTwo(Math.floor(full / 60), "min", full % 60, "s");
  return inTwo(Math.floor(full / 3600), "h", Math.floor((full % 3600) / 60), "min");
}

const inTwo = (many: number, unit: string, rest: number, part: string) =>
  rest === 0 ? `${many} ${unit}` : `${many} ${unit} ${rest} ${part}`;

/** A duration beside an axis, where the values are round: "0", "500 ms", "2 s". */
export const axisText = (seconds: number) => (seconds === 0 ? "0" : durationText(seconds).replace(/\.0+(?= s$)/, ""));

const change = numbers({
  style: "percent",
  maximumFractionDigits: 0,
  signDisplay: "exceptZero",
});

/** "+12% on the period before". Nothing where there is nothing to compare with. */
export function changeText(now: number | null, before: number | null): string {
  if (now === null || before === null || before === 0) return "";
  return `${change.format(now / before - 1)} on the period before`;
}

/** "$12.30", "$0.28", "$0.0042", "< $0.00001". */
export function costText(amount: string | number): string {
  const value = Number(amount);
  const size = Math.abs(value);
  if (size !== 0 && size < LEAST) return `< ${least.format(LEAST)}`;
  return (size === 0 || size >= 0.01 ? cents : small).format(value);
}

export const tokensText = (tokens: number) => `${countText(tokens)} ${tokens === 1 ? "token" : "tokens"}`;

/** The first line that says something. */
export const firstLine = (text: string) => text.trim().split("\n", 1)[0] ?? "";

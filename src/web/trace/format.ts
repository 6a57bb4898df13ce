/** Figures of a trace in words. */

const cost = new Intl.NumberFormat(undefined, { style: "currency", currency: "USD", maximumSignificantDigits: 3 });

/** "12 ms", "1.24 s", "2 min 5 s", "2 min". */
export function durationText(seconds: number): string {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return inTwo(Math.floor(whole / 60), "min", whole % 60, "s");
  return inTwo(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
}

const inTwo = (many: number, unit: string, rest: number, small: string) =>
  rest === 0 ? `${many} ${unit}` : `${many} ${unit} ${rest} ${small}`;

/** A duration beside an axis, where the values are round: "0", "500 ms", "2 s". */
export const axisText = (seconds: number) => (seconds === 0 ? "0" : durationText(seconds).replace(/\.0+(?= s$)/, ""));

export const costText = (dollars: string) => cost.format(Number(dollars));

export const tokensText = (tokens: number) => `${tokens.toLocaleString()} ${tokens === 1 ? "token" : "tokens"}`;

/** The first line that says something. */
export const firstLine = (text: string) => text.trim().split("\n", 1)[0] ?? "";

/** Time ranges as addresses name them: `?range=7d`, or `?from=…&to=…`. Without React: the first requests of a page are made of them. */

const HOUR = 3_600_000;

/** The ranges that end now, by their name in the address. */
export const PRESETS: { key: string; name: string; ms: number }[] = [
  { key: "1h", name: "Last hour", ms: HOUR },
  { key: "24h", name: "Last 24 hours", ms: 24 * HOUR },
  { key: "7d", name: "Last 7 days", ms: 7 * 24 * HOUR },
  { key: "30d", name: "Last 30 days", ms: 30 * 24 * HOUR },
  { key: "90d", name: "Last 90 days", ms: 90 * 24 * HOUR },
];

export const DEFAULT = "24h";

/** The range that a view offers where another has nothing. */
export const LONGEST = { key: "90d", name: "last 90 days" };

export interface Range {
  /** The name of a preset, or `custom`. Part of the key of every query over the range. */
  key: string;
  name: string;
  /**
   * Milliseconds since the epoch. For a preset, to the minute, so that views that are drawn together request the same
   * range.
   */
  from: number;
  /** Undefined: until now. */
  to: number | undefined;
}

/** The range that an address names. What is no range is the last 24 hours. */
export function parseRange(params: URLSearchParams, now: number): Range {
  const from = Date.parse(params.get("from") ?? "");
  if (!Number.isNaN(from)) {
    const to = Date.parse(params.get("to") ?? "");
    const end = Number.isNaN(to) || to <= from ? undefined : to;
    return { key: `${from}-${end ?? ""}`, name: "Custom range", from, to: end };
  }
  const named = params.get("range") ?? DEFAULT;
  const preset = PRESETS.find(({ key }) => key === named) ?? PRESETS.find(({ key }) => key === DEFAULT);
  const { key, name, ms } = preset ?? { key: DEFAULT, name: "Last 24 hours", ms: 24 * HOUR };
  return { key, name, from: Math.floor((now - ms) / 60_000) * 60_000, to: undefined };
}

/** The part of an address that names its time range. */
export function keepRange(search: string): string {
  const params = new URLSearchParams(search);
  const kept = new URLSearchParams();
  for (const name of ["range", "from", "to"]) {
    const value = params.get(name);
    if (value !== null) kept.set(name, value);
  }
  return kept.size === 0 ? "" : `?${kept}`;
}

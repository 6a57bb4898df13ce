/** The time range of all views of Observe. It is kept in the address: `?range=7d`, or `?from=…&to=…`. */
import { useCallback, useMemo } from "react";
import { useSearchParams } from "wouter";

const HOUR = 3_600_000;

/** The ranges that end now, by their name in the address. */
export const PRESETS: { key: string; name: string; ms: number }[] = [
  { key: "1h", name: "Last hour", ms: HOUR },
  { key: "24h", name: "Last 24 hours", ms: 24 * HOUR },
  { key: "7d", name: "Last 7 days", ms: 7 * 24 * HOUR },
  { key: "30d", name: "Last 30 days", ms: 30 * 24 * HOUR },
];

const DEFAULT = "24h";

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
export function rangeOf(params: URLSearchParams, now: number): Range {
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

/** The part of an address that the next view of Observe takes along. */
export function keepRange(search: string): string {
  const params = new URLSearchParams(search);
  const kept = new URLSearchParams();
  for (const name of ["range", "from", "to"]) {
    const value = params.get(name);
    if (value !== null) kept.set(name, value);
  }
  return kept.size === 0 ? "" : `?${kept}`;
}

/** The range of the address, and how to choose another: a preset's key, or two times in milliseconds. */
export function useRange(): [Range, (next: string | { from: number; to: number }) => void] {
  const [params, setParams] = useSearchParams();
  const text = keepRange(params.toString());
  const range = useMemo(() => rangeOf(new URLSearchParams(text), Date.now()), [text]);
  const choose = useCallback(
    (next: string | { from: number; to: number }) =>
      setParams((now) => {
        const changed = new URLSearchParams(now);
        for (const name of ["range", "from", "to"]) changed.delete(name);
        if (typeof next === "string") {
          if (next !== DEFAULT) changed.set("range", next);
        } else {
          changed.set("from", new Date(next.from).toISOString());
          changed.set("to", new Date(next.to).toISOString());
        }
        return changed;
      }),
    [setParams],
  );
  return [range, choose];
}

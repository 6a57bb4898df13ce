/** The time range of all views that have one. It is kept in the address: `?range=7d`, or `?from=…&to=…`. */
import { useCallback, useMemo } from "react";
import { useSearchParams } from "wouter";
import { DEFAULT, keepRange, type Range, parseRange } from "./presets.ts";

export { keepRange, LONGEST, PRESETS, type Range, parseRange } from "./presets.ts";

/** The range of the address, and how to choose another: a preset's key, or two times in milliseconds. */
export function useRange(): [Range, (next: string | { from: number; to: number }) => void] {
  const [params, setParams] = useSearchParams();
  const text = keepRange(params.toString());
  const range = useMemo(() => parseRange(new URLSearchParams(text), Date.now()), [text]);
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

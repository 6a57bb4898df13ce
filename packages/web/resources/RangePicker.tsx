import { useCallback, useMemo, useState } from "react";
import { useSearchParams } from "wouter";
import controls from "../ui/controls.module.css";
import { useLoaded } from "../ui/on-demand.ts";
import css from "./page.module.css";
import { DEFAULT, keepRange, parseRange, PRESETS, type Range } from "./range.ts";

const CUSTOM = "custom";
const loadDialog = async () => (await import("./TimesDialog.tsx")).default;

/** The time range: the named ones, one that was drawn in a plot, or two times that a person enters. */
export function RangePicker() {
  const [range, choose] = useRange();
  const [entering, setEntering] = useState(false);
  const { Loaded: TimesDialog } = useLoaded(loadDialog, entering, () => setEntering(false));
  const named = PRESETS.some(({ key }) => key === range.key);
  return (
    <>
      <select
        className={`${controls.field} ${css.range}`}
        aria-label="Time range"
        value={range.key}
        onChange={({ target: { value } }) => (value === CUSTOM ? setEntering(true) : choose(value))}
      >
        {!named && <option value={range.key}>{range.name}</option>}
        {PRESETS.map(({ key, name }) => (
          <option key={key} value={key}>
            {name}
          </option>
        ))}
        <option value={CUSTOM}>Choose times…</option>
      </select>
      {entering && TimesDialog && (
        <TimesDialog
          from={range.from}
          to={range.to ?? Date.now()}
          onChoose={(from, to) => choose({ from, to })}
          onClose={() => setEntering(false)}
        />
      )}
    </>
  );
}

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

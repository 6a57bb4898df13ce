import { useState } from "react";
import controls from "../ui/controls.module.css";
import { useLoaded } from "../ui/on-demand.ts";
import css from "./page.module.css";
import { PRESETS, useRange } from "./range.ts";

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

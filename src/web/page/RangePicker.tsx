import controls from "../ui/controls.module.css";
import css from "./page.module.css";
import { PRESETS, useRange } from "./range.ts";

/** The time range of Observe. A range that was drawn in a plot is offered beside the named ones. */
export function RangePicker() {
  const [range, choose] = useRange();
  const named = PRESETS.some(({ key }) => key === range.key);
  return (
    <select
      className={`${controls.field} ${css.range}`}
      aria-label="Time range"
      value={range.key}
      onChange={(event) => choose(event.target.value)}
    >
      {!named && <option value={range.key}>{range.name}</option>}
      {PRESETS.map(({ key, name }) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </select>
  );
}

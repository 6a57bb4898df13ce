/** Which of the found runs are added. */
import { useId } from "react";
import { Button } from "../../ui/Button.tsx";
import css from "./collect.module.css";
import type { Collected } from "./queries.ts";
import { countText } from "../../ui/format.ts";

export function ChooseRuns({
  runs,
  left,
  onLeft,
}: {
  runs: Collected[];
  /** Ids of the runs that are left out. */
  left: ReadonlySet<string>;
  onLeft: (left: ReadonlySet<string>) => void;
}) {
  const id = useId();
  const toggle = (run: string) => {
    const next = new Set(left);
    if (!next.delete(run)) next.add(run);
    onLeft(next);
  };
  return (
    <fieldset className={css.runs} aria-describedby={id}>
      <legend>Runs</legend>
      <p id={id} className={css.count}>
        {countText(runs.length - left.size)} of {countText(runs.length)} found
        <Button
          look="quiet"
          onClick={() => onLeft(left.size === 0 ? new Set(runs.map((run) => run.id)) : new Set<string>())}
        >
          {left.size === 0 ? "Select none" : "Select all"}
        </Button>
      </p>
      <ul>
        {runs.map((run) => (
          <li key={run.id}>
            <label>
              <input type="checkbox" checked={!left.has(run.id)} onChange={() => toggle(run.id)} />
              <span className="line">
                {run.name} <small>{run.preview}</small>
              </span>
            </label>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

import css from "./Log.module.css";
import { Tick } from "./Tick.tsx";

/** Where the run failed, at the end of its turn. The strip says what can be done. */
export function RunFailed({ error }: { error: string }) {
  const [first = "", ...rest] = error.split("\n");
  return (
    <div className={`${css.row} ${css.runFailed}`}>
      <Tick kind="failed" />
      <p>
        The run failed here. <bdi>{first}</bdi>
      </p>
      {rest.length > 0 && (
        <details>
          <summary>Show the full error ({rest.length + 1} lines)</summary>
          {/* What scrolls must be reachable by keyboard. */}
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <pre tabIndex={0} role="region" aria-label="Error">
            {error}
          </pre>
        </details>
      )}
    </div>
  );
}

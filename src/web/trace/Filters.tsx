import { useId, useState } from "react";
import { Button } from "../ui/Button.tsx";
import controls from "../ui/controls.module.css";
import css from "./list.module.css";
import type { Project, Wanted } from "./types.ts";

/** Which traces: the project, only the failed ones, and a filter in the query language. */
export function Filters({
  projects,
  wanted,
  refusal,
  onChange,
}: {
  projects: Project[];
  wanted: Wanted;
  /** What the server has against the filter. */
  refusal: string | undefined;
  onChange: (changes: Record<string, string>) => void;
}) {
  const id = useId();
  const [text, setText] = useState(wanted.filter);
  const [seen, setSeen] = useState(wanted.filter);
  // The address changed: back, forward, or another filter applied.
  if (seen !== wanted.filter) {
    setSeen(wanted.filter);
    setText(wanted.filter);
  }
  const known = projects.some((one) => one.id === wanted.project);
  return (
    <form
      className={css.filters}
      role="search"
      aria-label="Traces"
      onSubmit={(event) => {
        event.preventDefault();
        onChange({ filter: text.trim() });
      }}
    >
      <div className={css.project}>
        <label htmlFor={`${id}-project`} className={controls.label}>
          Project
        </label>
        <select
          id={`${id}-project`}
          className={controls.field}
          value={wanted.project}
          onChange={(event) => onChange({ project: event.target.value })}
        >
          {!known && <option value={wanted.project}>{wanted.project}</option>}
          {projects.map((one) => (
            <option key={one.id} value={one.id}>
              {one.name}
            </option>
          ))}
        </select>
      </div>
      <div className={css.filter}>
        <label htmlFor={`${id}-filter`} className={controls.label}>
          Filter
        </label>
        <div className={css.filterRow}>
          <input
            id={`${id}-filter`}
            className={`${controls.field} ${controls.json}`}
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            value={text}
            placeholder='gt(latency, "5s")'
            aria-invalid={refusal !== undefined}
            aria-describedby={`${id}-note`}
            onChange={(event) => setText(event.target.value)}
          />
          <Button type="submit">Apply</Button>
        </div>
      </div>
      <label className={css.failedOnly}>
        <input
          type="checkbox"
          role="switch"
          checked={wanted.failed}
          onChange={(event) => onChange({ failed: event.target.checked ? "1" : "" })}
        />
        Failed only
      </label>
      {refusal === undefined ? (
        <p id={`${id}-note`} className={controls.help}>
          About the root run of a trace: <code>eq(name, "agent")</code>, <code>has(tags, "x")</code>,{" "}
          <code>search("words")</code>, joined by <code>and(…)</code>, <code>or(…)</code>, <code>not(…)</code>
        </p>
      ) : (
        <p id={`${id}-note`} className={controls.error} role="alert">
          {refusal}
        </p>
      )}
    </form>
  );
}

/** The tools that are described to all models. */
import { useId } from "react";
import controls from "../../ui/controls.module.css";
import work from "../../resources/work.module.css";
import type { Play } from "./play.ts";
import { parseTools } from "./request.ts";

export function Tools({ play, onChange }: { play: Play; onChange: (next: (play: Play) => Play) => void }) {
  const id = useId();
  const { count, fault } = read(play);
  return (
    <details className={work.section} open={play.tools !== ""}>
      <summary>{count === 0 ? "Tools" : `Tools (${count})`}</summary>
      <div className={controls.row}>
        <label htmlFor={id} className={controls.label}>
          Tools as JSON
        </label>
        <textarea
          id={id}
          className={`${controls.field} ${controls.json}`}
          rows={Math.min(12, play.tools.split("\n").length + 1)}
          spellCheck={false}
          value={play.tools}
          placeholder='[{"type": "function", "function": {"name": "…", "parameters": {}}}]'
          aria-invalid={fault !== undefined}
          aria-describedby={`${id}-note`}
          onChange={(event) => {
            const tools = event.target.value;
            onChange((held) => ({ ...held, tools }));
          }}
        />
        <p id={`${id}-note`} className={fault === undefined ? controls.help : controls.error}>
          {fault ?? "Described to the models. Assistants have their own."}
        </p>
      </div>
    </details>
  );
}

function read(play: Play): { count: number; fault?: string } {
  try {
    return { count: parseTools(play).length };
  } catch (error) {
    return { count: 0, fault: error instanceof Error ? error.message : "The tools cannot be read." };
  }
}

/** The variables of the messages, and what they are filled with. */
import { useId } from "react";
import { type TemplateVariable, variablesIn } from "../../../../src/agents/prompts/template.ts";
import controls from "../../ui/controls.module.css";
import work from "../../resources/work.module.css";
import type { Play } from "./play.ts";
import { Trouble } from "../../resources/Trouble.tsx";

interface Props {
  play: Play;
  onChange: (next: (play: Play) => Play) => void;
}

export function Variables({ play, onChange }: Props) {
  const id = useId();
  const { names, fault } = namesIn(play);
  const set = (name: string, text: string) =>
    onChange((held) => ({ ...held, variables: { ...held.variables, [name]: text } }));
  return (
    <section className={work.section} aria-label="Variables">
      <h2>Variables</h2>
      <Trouble text={fault} />
      {names.length === 0 && fault === undefined && (
        <p className={work.none}>
          {play.format === "none" ? "Plain text has no variables." : "The messages have no variables."}
        </p>
      )}
      {names.map(({ name, data }, at) => {
        const text = play.variables[name] ?? "";
        return (
          <div key={name} className={controls.row}>
            <label htmlFor={`${id}-${at}`} className={controls.label}>
              {name}
              {data && <span className={controls.changed}>JSON</span>}
            </label>
            <textarea
              id={`${id}-${at}`}
              className={`${controls.field} ${data ? controls.json : ""}`}
              rows={Math.min(8, text.split("\n").length)}
              spellCheck={!data}
              value={text}
              onChange={(event) => set(name, event.target.value)}
            />
          </div>
        );
      })}
    </section>
  );
}

function namesIn({ messages, format }: Play): { names: TemplateVariable[]; fault?: string } {
  try {
    return { names: variablesIn(messages, format) };
  } catch (error) {
    return { names: [], fault: error instanceof Error ? error.message : "The template cannot be read." };
  }
}

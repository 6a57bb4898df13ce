/** The messages that all columns share. */
import type { TemplateFormat } from "../../../../src/agents/prompts/template.ts";
import { Button } from "../../ui/Button.tsx";
import controls from "../../ui/controls.module.css";
import work from "../../resources/work.module.css";
import { OneMessage } from "./OneMessage.tsx";
import { type Edited, newId, type Play } from "./play.ts";
import css from "./playground.module.css";

const FORMATS: [TemplateFormat, string][] = [
  ["mustache", "{{name}} (Mustache)"],
  ["f-string", "{name} (f-string)"],
  ["none", "Plain text"],
];

export function Messages({ play, onChange }: { play: Play; onChange: (next: (play: Play) => Play) => void }) {
  const { messages, format } = play;
  const put = (next: (messages: Edited[]) => Edited[]) =>
    onChange((held) => ({ ...held, messages: next(held.messages) }));
  const last = messages.at(-1);
  return (
    <section className={work.section} aria-label="Messages">
      <div className={work.head}>
        <h2>Messages</h2>
        <select
          className={`${controls.field} ${work.select}`}
          aria-label="Variables are written"
          value={format}
          onChange={(event) => {
            const chosen = event.target.value as TemplateFormat;
            onChange((held) => ({ ...held, format: chosen }));
          }}
        >
          {FORMATS.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </div>
      <ol className={css.messages}>
        {messages.map((message, at) => (
          <li key={message.id}>
            <OneMessage
              message={message}
              number={at + 1}
              isFirst={at === 0}
              onChange={(next) => put((held) => held.map((one) => (one.id === message.id ? { ...one, ...next } : one)))}
              onRemove={() => put((held) => held.filter(({ id }) => id !== message.id))}
              onUp={() => put((held) => movedUp(held, at))}
            />
          </li>
        ))}
      </ol>
      <div className={work.acts}>
        <Button
          onClick={() =>
            put((held) => [...held, { id: newId(), role: last?.role === "human" ? "ai" : "human", content: "" }])
          }
        >
          Add message
        </Button>
        <Button
          look="quiet"
          onClick={() => put((held) => [...held, { id: newId(), role: "placeholder", content: "" }])}
        >
          Add placeholder
        </Button>
      </div>
    </section>
  );
}

function movedUp(messages: Edited[], at: number): Edited[] {
  const next = [...messages];
  const [moved] = next.splice(at, 1);
  if (moved) next.splice(at - 1, 0, moved);
  return next;
}

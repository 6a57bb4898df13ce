/** An input or an output of a run: as a conversation where it is one, else as JSON. Large ones show their beginning. */
import { useMemo, useState } from "react";
import { Button } from "../../ui/Button.tsx";
import { Payload, useCut } from "../../ui/Payload.tsx";
import { messagesIn, type ReadMessage } from "./messages.ts";
import css from "./details.module.css";
import { countText } from "../../ui/format.ts";

const LINES = 24;
const MESSAGES = 20;

export function Value({ label, value }: { label: string; value: unknown }) {
  const said = useMemo(() => messagesIn(value), [value]);
  const [raw, setRaw] = useState(false);
  if (!said) return <Json label={label} value={value} />;
  return (
    <section aria-label={label}>
      <h3 className={css.label}>
        {label}
        <Button look="quiet" aria-pressed={raw} onClick={() => setRaw(!raw)}>
          JSON
        </Button>
      </h3>
      {raw ? <Json label={`${label} as JSON`} value={value} /> : <Messages said={said} />}
    </section>
  );
}

function Json({ label, value }: { label: string; value: unknown }) {
  const text = useMemo(() => JSON.stringify(value, null, 2), [value]);
  return <Payload label={label} text={text} lines={LINES} />;
}

export function Messages({ said }: { said: ReadMessage[] }) {
  const [all, setAll] = useState(said.length <= MESSAGES);
  const first = all ? 0 : said.length - MESSAGES;
  return (
    <>
      {first > 0 && (
        <Button look="quiet" onClick={() => setAll(true)}>
          Show {countText(first)} earlier messages
        </Button>
      )}
      <ol className={css.messages}>
        {said.slice(first).map((one, i) => {
          // The messages of a run do not change their order.
          const key = first + i;
          return (
            <li key={key}>
              <Message said={one} />
            </li>
          );
        })}
      </ol>
    </>
  );
}

function Message({ said: { role, text, calls } }: { said: ReadMessage }) {
  const [shown, rest] = useCut(text, role, LINES);
  return (
    <>
      <h4>{role}</h4>
      {text !== "" && <p className={css.text}>{shown}</p>}
      {rest}
      {calls.map((call, i) => {
        // Nor do its calls.
        const key = i;
        return <Payload key={key} label={`Calls ${call.name}`} text={call.args} lines={LINES} />;
      })}
    </>
  );
}

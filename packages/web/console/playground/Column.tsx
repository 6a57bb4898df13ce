/** One column: who answers, with which settings, and the answer. */
import { Play as Start, Square, X } from "lucide-react";
import type { Assistant } from "../../api/types.ts";
import { Button, IconButton } from "../../ui/Button.tsx";
import { Answer } from "./Completion.tsx";
import { ModelFields } from "./ModelFields.tsx";
import { type Column, newId } from "./play.ts";
import css from "./playground.module.css";
import type { KnownModel } from "./queries.ts";
import type { Playing } from "./usePlay.ts";

interface Props {
  column: Column;
  number: number;
  models: KnownModel[];
  assistants: Assistant[];
  apiKey: string;
  isOnly: boolean;
  mayRun: boolean;
  playing: Playing;
}

export function ColumnView({ column, number, models, assistants, apiKey, isOnly, mayRun, playing }: Props) {
  const { id, result } = column;
  const { change, changeColumn, run, setKey, stop } = playing;
  const isRunning = result?.state === "running";
  const continued = () => {
    if (!result) return;
    const { text, calls } = result;
    const answers = calls.map((call) => ({ id: newId(), role: "tool" as const, content: "", tool_call_id: call.id }));
    const tool_calls = calls.map(({ args, ...call }) => ({ ...call, args: argsIn(args) }));
    const said = { id: newId(), role: "ai" as const, content: text, ...(calls.length > 0 && { tool_calls }) };
    change((held) => ({
      ...held,
      messages: [...held.messages, said, ...answers, ...(calls.length === 0 ? [humanNext()] : [])],
    }));
  };
  return (
    <section className={css.column} aria-label={`Column ${number}`}>
      <div className={css.bar}>
        <h2>Column {number}</h2>
        <span className={css.space} />
        {isRunning ? (
          <Button onClick={() => stop(id)}>
            <Square size={14} aria-hidden /> Stop
          </Button>
        ) : (
          <Button disabled={!mayRun} onClick={() => run(column)}>
            <Start size={14} aria-hidden /> Run
          </Button>
        )}
        {!isOnly && (
          <IconButton
            label={`Remove column ${number}`}
            onClick={() => {
              stop(id);
              change((held) => ({ ...held, columns: held.columns.filter((one) => one.id !== id) }));
            }}
          >
            <X size={16} aria-hidden />
          </IconButton>
        )}
      </div>
      <ModelFields
        column={column}
        number={number}
        models={models}
        assistants={assistants}
        apiKey={apiKey}
        onKey={(key) => setKey(id, key)}
        onChange={(next) => changeColumn(id, next)}
      />
      {result && <Answer result={result} number={number} onContinue={continued} />}
    </section>
  );
}

const humanNext = () => ({ id: newId(), role: "human" as const, content: "" });

function argsIn(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : { input: text };
  } catch {
    return { input: text };
  }
}

/** The tool calls of an answer, as JSON. What is no list of calls is not kept. */
import { useId, useState } from "react";
import type { ToolCall } from "../../../../src/agents/prompts/template.ts";
import controls from "../../ui/controls.module.css";

export function ToolCalls({
  number,
  calls,
  onChange,
}: {
  number: number;
  calls: ToolCall[];
  onChange: (calls: ToolCall[]) => void;
}) {
  const id = useId();
  const [text, setText] = useState(() => JSON.stringify(calls, null, 2));
  const isFaulty = read(text) === undefined;
  return (
    <div className={controls.row}>
      <label htmlFor={id} className={controls.label}>
        Tool calls of message {number}
      </label>
      <textarea
        id={id}
        className={`${controls.field} ${controls.json}`}
        rows={Math.min(12, text.split("\n").length)}
        spellCheck={false}
        value={text}
        aria-invalid={isFaulty}
        aria-describedby={isFaulty ? `${id}-note` : undefined}
        onChange={(event) => {
          setText(event.target.value);
          const next = read(event.target.value);
          if (next) onChange(next);
        }}
      />
      {isFaulty && (
        <p id={`${id}-note`} className={controls.error}>
          {'It must be a list of {"id", "name", "args"}. The last such list is sent.'}
        </p>
      )}
    </div>
  );
}

function read(text: string): ToolCall[] | undefined {
  try {
    const list = JSON.parse(text) as unknown;
    return Array.isArray(list) && list.every(isCall) ? list : undefined;
  } catch {
    return undefined;
  }
}

function isCall(value: unknown): value is ToolCall {
  const call = value as Partial<ToolCall> | null;
  return (
    typeof call?.id === "string" && typeof call.name === "string" && typeof call.args === "object" && call.args !== null
  );
}

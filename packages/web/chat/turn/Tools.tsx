/** Tool calls: one line each, collapsed until the user opens them. Failures are never collapsed. */
import { Check, ChevronRight, CircleAlert, LoaderCircle, Minus } from "lucide-react";
import { Payload } from "../../ui/Payload.tsx";
import { resultText } from "./messages.ts";
import css from "./parts.module.css";
import { type CallState, tellingArgument, type ToolCall } from "./turns.ts";
import { useCallback, useState } from "react";

export const STATE_WORDS: Record<CallState, string> = {
  running: "running",
  done: "done",
  failed: "failed",
  waiting: "no result yet",
};

export function StateGlyph({ state }: { state: CallState }) {
  if (state === "running") return <LoaderCircle size={14} className={css.running} aria-hidden />;
  if (state === "done") return <Check size={14} className={css.done} aria-hidden />;
  if (state === "failed") return <CircleAlert size={14} className={css.failedGlyph} aria-hidden />;
  return <Minus size={14} className={css.idle} aria-hidden />;
}

export function Tools({ id, calls }: { id: string; calls: ToolCall[] }) {
  const [open, toggle] = useFold(`group-${id}`);
  const only = calls[0];
  if (calls.length === 1 && only) return <ToolLine call={only} />;
  const running = calls.filter((call) => call.state === "running").length;
  const state: CallState = running > 0 ? "running" : calls.every((call) => call.state === "done") ? "done" : "waiting";
  return (
    <div>
      <button type="button" className={css.line} aria-expanded={open} onClick={toggle}>
        <ChevronRight size={14} className={css.chevron} aria-hidden />
        <span className={css.name}>{calls.length} tool calls</span>
        <span className={css.argument}>{[...new Set(calls.map((call) => call.name))].join(", ")}</span>
        <span className={css.count}>{running > 0 ? `${calls.length - running} of ${calls.length}` : ""}</span>
        <StateGlyph state={state} />
        <span className="visually-hidden">{STATE_WORDS[state]}</span>
      </button>
      {open && (
        <ul className={css.calls}>
          {calls.map((call) => (
            <li key={call.id}>
              <ToolLine call={call} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

export function ToolLine({ call }: { call: ToolCall }) {
  const [open, toggle] = useFold(call.id);
  const failed = call.state === "failed";
  return (
    <div className={failed ? css.failed : undefined}>
      <button type="button" className={css.line} aria-expanded={open} onClick={toggle}>
        <ChevronRight size={14} className={css.chevron} aria-hidden />
        <span className={css.name}>{call.name}</span>
        <span className={css.argument}>{tellingArgument(call.args)}</span>
        <StateGlyph state={call.state} />
        <span className="visually-hidden">{STATE_WORDS[call.state]}</span>
      </button>
      {failed && !open && <p className={css.firstLine}>{resultText(call.output).split("\n")[0]}</p>}
      {open && (
        <div className={css.inside}>
          <Payload label="Input" text={JSON.stringify(call.args, null, 2)} />
          {call.output !== undefined && <Payload label={failed ? "Error" : "Output"} text={resultText(call.output)} />}
        </div>
      )}
    </div>
  );
}

const open = new Set<string>();

/** Elements that the user opened stay open: by id, until the page is closed, also when the run changes. */
function useFold(id: string): [boolean, () => void] {
  const [, redraw] = useState(0);
  const toggle = useCallback(() => {
    if (!open.delete(id)) open.add(id);
    redraw((count) => count + 1);
  }, [id]);
  return [open.has(id), toggle];
}

import { Circle, CircleDot, Diamond, Unplug } from "lucide-react";
import css from "./Strip.module.css";
import type { StripAction, StripLine } from "./status.ts";

const WORDS: Record<StripAction, string> = {
  show: "Show",
  reconnect: "Reconnect",
  retry: "Retry",
  copy: "Copy error",
  "leave-branch": "Go to newest branch",
  continue: "Continue",
};

/** One line of fixed height, always there: nothing moves when it changes. */
export function Strip({
  line,
  mayRun,
  onAction,
}: {
  line: StripLine;
  mayRun: boolean;
  onAction: (action: StripAction) => void;
}) {
  const actions = line.actions.filter((action) => mayRun || (action !== "retry" && action !== "continue"));
  return (
    <div className={css.strip} data-tone={line.tone} data-strip>
      {line.tone === "running" && <CircleDot size={14} aria-hidden />}
      {line.tone === "waiting" && <Circle size={14} aria-hidden />}
      {line.tone === "failed" && <Diamond size={14} aria-hidden />}
      {line.tone === "lost" && <Unplug size={14} aria-hidden />}
      <span className={css.text} title={line.text}>
        {line.text}
      </span>
      {actions.map((action) => (
        <button key={action} type="button" className={css.action} onClick={() => onAction(action)}>
          {WORDS[action]}
        </button>
      ))}
    </div>
  );
}

import { Circle, CircleDot, Diamond, Unplug } from "lucide-react";
import css from "./Strip.module.css";
import type { StripAction, StripLine } from "./status.ts";
import { useEffect, useRef, useState } from "react";
import type { Turn } from "../turn/turns.ts";

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

/** The page's single live region for screen readers: at least one second between two texts. */
export function Announcer({ text, alarm }: { text: string; alarm: string }) {
  const [said, setSaid] = useState("");
  const last = useRef(0);
  useEffect(() => {
    if (text === "") return;
    const wait = Math.max(0, last.current + 1_000 - Date.now());
    const timer = setTimeout(() => {
      last.current = Date.now();
      setSaid(text);
    }, wait);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div className="visually-hidden">
      <div role="status">{said}</div>
      <div role="alert">{alarm}</div>
    </div>
  );
}

/** The announcements of a run for screen readers: its start, its interrupts and its end. Tokens are never announced. */
export function useSpoken(now: { running: boolean; waiting: number; line: StripLine; turns: Turn[] }): string {
  const [text, setText] = useState("");
  const before = useRef({ running: false, waiting: 0, tone: "plain" });
  const { running, waiting, line, turns } = now;
  useEffect(() => {
    const was = before.current;
    if (line.tone === "lost" && was.tone !== "lost") setText("Connection lost");
    else if (was.tone === "lost" && line.tone !== "lost") setText("Connected again");
    else if (running && !was.running) setText("Running");
    else if (waiting > was.waiting) setText(waiting === 1 ? "Approval needed" : `${waiting} approvals needed`);
    else if (!running && was.running && waiting === 0) {
      const answer = turns.at(-1)?.parts.findLast((part) => part.kind === "text")?.text ?? "";
      const words = answer.split(/\s+/).filter(Boolean).length;
      setText(words === 0 ? "Done" : `Answer ready, ${words} words. ${answer.slice(0, 200)}`);
    }
    before.current = { running, waiting, tone: line.tone };
  }, [running, waiting, line.tone, turns]);
  return text;
}

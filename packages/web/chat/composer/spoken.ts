/** The announcements of a run for screen readers: its start, its interrupts and its end. Tokens are never announced. */
import { useEffect, useRef, useState } from "react";
import type { StripLine } from "./status.ts";
import type { Turn } from "../turn/turns.ts";

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

/** The changes in the workspace, from the server. One stream per view, open while the tab is visible. */
import { useEffect, useRef } from "react";
import { authFetch } from "./http.ts";

/** Milliseconds until a stream that ended is opened again. */
const AGAIN = 3_000;

/** Calls `onChange` when threads of the workspace changed, and when the stream was opened again after a gap. */
export function useActivity(onChange: () => void): void {
  const now = useRef(onChange);
  useEffect(() => {
    now.current = onChange;
  });
  useEffect(() => {
    let leave: AbortController | undefined;
    const open = async () => {
      leave?.abort();
      if (document.hidden) return;
      const controller = (leave = new AbortController());
      for (let first = true; !controller.signal.aborted; first = false) {
        if (!first) await new Promise((resolve) => setTimeout(resolve, AGAIN));
        const isRefused = await follow(controller.signal, (event) => {
          if (event === "threads" || (event === "open" && !first)) now.current();
        }).catch(() => false);
        if (isRefused) return;
      }
    };
    const seen = () => {
      // Changes that happened without a connection are read again.
      if (!document.hidden) now.current();
      void open();
    };
    void open();
    document.addEventListener("visibilitychange", seen);
    return () => {
      leave?.abort();
      document.removeEventListener("visibilitychange", seen);
    };
  }, []);
}

/** Names each event of the stream until it ends. True when the caller may not read the stream. */
async function follow(signal: AbortSignal, onEvent: (event: string) => void): Promise<boolean> {
  const answer = await authFetch("/api/v1/activity/stream", { signal });
  if (answer.status === 401 || answer.status === 403) return true;
  if (!answer.ok || !answer.body) return false;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return false;
    text += value;
    const frames = text.split("\n\n");
    text = frames.pop() ?? "";
    for (const frame of frames) {
      const event = /^event: (.*)$/m.exec(frame)?.[1];
      if (event !== undefined) onEvent(event);
    }
  }
}

/** The changes in the workspace, from the server. One stream per view, open while the tab is visible. */
import type { Query } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { authFetch } from "./http.ts";
import { FRESH_MS, queryClient } from "./queries.ts";

/** Milliseconds until a stream that ended is opened again. */
const AGAIN = 3_000;

/**
 * Calls `onChange` when threads of the workspace changed: since the stream is open, or between what the view has read and
 * the beginning of the stream. After a gap it is always called.
 */
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
      // The view reads now, or shows what was read before and is still fresh.
      const read = performance.now() - FRESH_MS;
      const isMissed = (data: string) => {
        const { unchanged_ms: unchanged } = JSON.parse(data) as { unchanged_ms: number | null };
        return unchanged !== null && unchanged <= performance.now() - read;
      };
      for (let first = true; !controller.signal.aborted; first = false) {
        if (!first) await new Promise((resolve) => setTimeout(resolve, AGAIN));
        const isRefused = await follow(controller.signal, (event, data) => {
          if (event === "threads" || (event === "open" && (!first || isMissed(data)))) now.current();
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

const waiting = new Set<string>();

/**
 * Reads queries again after a change. An answer that is on its way may be older than the change: it is waited for, so that
 * slow answers are shown also when changes are frequent.
 */
export async function readAgain(queryKey: readonly string[]): Promise<void> {
  const name = queryKey.join();
  if (waiting.has(name)) return;
  waiting.add(name);
  const isReading = { queryKey, predicate: ({ state }: Query) => state.fetchStatus === "fetching" };
  await queryClient.refetchQueries(isReading, { cancelRefetch: false });
  waiting.delete(name);
  await queryClient.invalidateQueries({ queryKey });
}

/** Gives each event of the stream until it ends. True when the caller may not read the stream. */
async function follow(signal: AbortSignal, onEvent: (event: string, data: string) => void): Promise<boolean> {
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
      const data = /^data: (.*)$/m.exec(frame)?.[1] ?? "";
      if (event !== undefined) onEvent(event, data);
    }
  }
}

/**
 * The changes in the workspace, from the server. A browser keeps six connections to a server over HTTP/1.1, for all its tabs
 * together: they share one stream. The tab that holds a lock reads it and tells the others.
 */
import { authFetch } from "./http.ts";
import { SERVER } from "./server.ts";
import type { Query } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useMe } from "./me.ts";
import { FRESH_MS, queryClient } from "./queries.ts";

// A message of a BroadcastChannel has no target.
/* oxlint-disable unicorn/require-post-message-target-origin */

/** Milliseconds until a stream that ended is opened again. */
const AGAIN = 3_000;

/** A tab joined, and is told when the workspace last changed. */
const JOINED = "joined";

/**
 * Listens for changes until the returned function is called.
 *
 * @param onChange gets when the workspace last changed, in milliseconds since epoch. A gap in the stream counts as a change.
 */
function joinActivity(workspace: string, onChange: (changedAt: number) => void): () => void {
  const name = `weir.activity ${SERVER} ${workspace}`;
  const left = new AbortController();
  // A page that is served without TLS has no locks: its tabs read a stream each.
  const locks = isSecureContext ? navigator.locks : undefined;
  const channel = locks && new BroadcastChannel(name);
  let leads = false;
  let changedAt = 0;
  const hear = (at: number) => {
    changedAt = Math.max(changedAt, at);
    onChange(at);
  };
  const tell = (at: number) => {
    channel?.postMessage(at);
    hear(at);
  };
  const lead = async () => {
    leads = true;
    await readOn(left.signal, tell);
    leads = false;
  };
  if (channel) {
    channel.addEventListener("message", ({ data }: MessageEvent<number | typeof JOINED>) => {
      if (data !== JOINED) hear(data);
      else if (leads) channel.postMessage(changedAt);
    });
    channel.postMessage(JOINED);
  }
  const lasting = locks ? locks.request(name, { signal: left.signal }, lead) : lead();
  lasting.catch(() => undefined);
  return () => {
    left.abort();
    channel?.close();
  };
}

/** Reads the stream, also after it ended, until `signal` or until the caller may not read it. */
async function readOn(signal: AbortSignal, tell: (changedAt: number) => void): Promise<void> {
  for (let first = true; !signal.aborted; first = false) {
    if (!first) await new Promise((resolve) => setTimeout(resolve, AGAIN));
    const isRefused = await follow(signal, (event, data) => {
      if (event === "threads" || (event === "open" && !first)) tell(Date.now());
      if (event !== "open" || !first) return;
      const { unchanged_ms: unchanged } = JSON.parse(data) as { unchanged_ms: number | null };
      if (unchanged !== null) tell(Date.now() - unchanged);
    }).catch(() => false);
    if (isRefused) return;
  }
}

/** Gives each event of the stream until it ends. True when the caller may not read the stream. */
async function follow(signal: AbortSignal, onEvent: (event: string, data: string) => void): Promise<boolean> {
  const response = await authFetch("/api/v1/activity/stream", { signal });
  if (response.status === 401 || response.status === 403) return true;
  if (!response.ok || !response.body) return false;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
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

// Reads the page's data again when threads of the workspace change.

/**
 * Calls `onChange` when threads of the workspace changed: while the tab is visible, or between what the view has read and now.
 */
export function useActivity(onChange: () => void): void {
  const workspace = useMe().data?.workspace.id;
  const now = useRef(onChange);
  // The view reads now, or shows what was read before and is still fresh.
  const read = useRef(Date.now() - FRESH_MS);
  useEffect(() => {
    now.current = onChange;
  });
  useEffect(() => {
    if (workspace === undefined) return;
    const readAt = (time: number) => {
      if (time < read.current) return;
      read.current = Date.now();
      now.current();
    };
    let leave: (() => void) | undefined;
    const follow = () => {
      leave?.();
      leave = document.hidden ? undefined : joinActivity(workspace, readAt);
    };
    const seen = () => {
      // Changes that happened while the tab was hidden are read again.
      if (!document.hidden) readAt(Date.now());
      follow();
    };
    follow();
    document.addEventListener("visibilitychange", seen);
    return () => {
      leave?.();
      document.removeEventListener("visibilitychange", seen);
    };
  }, [workspace]);
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

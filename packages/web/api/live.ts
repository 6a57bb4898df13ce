/** Reads the page's data again when threads of the workspace change. */
import type { Query } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { joinActivity } from "./activity.ts";
import { useMe } from "./me.ts";
import { FRESH_MS, queryClient } from "./queries.ts";

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

/** What waits for a person on a thread. The thread's own state is the truth; the stream only says it sooner. */
import { useEffect, useState } from "react";
import { queryClient, useThreadState } from "../api/queries.ts";
import type { Interrupt } from "../api/types.ts";
import { useSettledAt } from "./clock.ts";
import { interruptsOf, type Stream } from "./agent.ts";

export interface Pending {
  interrupts: Interrupt[];
  /** The error that the thread's last run ended with, if the thread still stands there. */
  failed: string | undefined;
  /** Takes an interrupt out of view while its answer is under way. */
  hide: (ids: string[]) => void;
  /** Puts it back: the answer did not arrive. */
  show: (ids: string[]) => void;
}

export function usePending(stream: Stream, running: boolean): Pending {
  const threadId = stream.threadId ?? undefined;
  const state = useThreadState(threadId, !running);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const settledAt = useSettledAt(running);
  useEffect(() => {
    if (settledAt === 0 || !threadId) return;
    for (const key of ["state", "history"]) void queryClient.invalidateQueries({ queryKey: [key, threadId] });
    void queryClient.invalidateQueries({ queryKey: ["threads"] });
  }, [settledAt, threadId]);

  const fresh = !state.isFetching && state.dataUpdatedAt > settledAt;
  useEffect(() => {
    // A later question may have the id of an earlier one: once the state is read again, it alone decides.
    if (fresh && !running) setHidden((now) => (now.size > 0 ? new Set() : now));
  }, [fresh, running]);

  const shown = running ? 0 : stream.interrupts.length;
  useEffect(() => void queryClient.invalidateQueries({ queryKey: ["threads"] }), [shown]);

  const tasks = state.data?.tasks ?? [];
  const known = fresh
    ? tasks.flatMap((task) => (task.interrupts ?? []).flatMap(({ id, value }) => (id ? [{ id, value }] : [])))
    : interruptsOf(stream);
  const failed = tasks.map((task) => task.error).find((error) => error !== null && error !== undefined);
  return {
    interrupts: running ? [] : known.filter((one) => !hidden.has(one.id)),
    failed: fresh && !running && failed !== undefined ? errorText(failed) : undefined,
    hide: (ids) => setHidden((now) => new Set([...now, ...ids])),
    show: (ids) => setHidden((now) => new Set([...now].filter((id) => !ids.includes(id)))),
  };
}

/** An error in words: its message, also where the message is JSON with one inside. */
export function errorText(error: unknown): string {
  const text =
    error instanceof Error ? error.message : typeof error === "string" ? error : JSON.stringify(error, null, 2);
  try {
    const inner = JSON.parse(text) as { message?: unknown; detail?: unknown };
    const words = inner.message ?? inner.detail;
    return typeof words === "string" ? words : text;
  } catch {
    return text;
  }
}

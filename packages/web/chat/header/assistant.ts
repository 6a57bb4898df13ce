/** Which assistant a conversation is with. */
import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";
import { ApiError, call } from "../../api/http.ts";
import type { Assistant, ThreadRow } from "../../api/types.ts";
import { readAssistant } from "./pick.ts";

const CHOSEN = "weir.assistant";
const listeners = new Set<() => void>();

/** Chooses the assistant of new threads, also of one that is in view. */
export function chooseAssistant(id: string): void {
  localStorage.setItem(CHOSEN, id);
  for (const listener of listeners) listener();
}

export function useChosen(): string | undefined {
  return useSyncExternalStore(subscribe, () => localStorage.getItem(CHOSEN) ?? undefined);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * The assistant of a thread that has begun: its own, or another of the same graph when that one was deleted. Another
 * graph cannot continue with the thread's state. Null where there is none.
 */
export function useOwnAssistant(thread: ThreadRow | undefined, listed: Assistant[] | undefined) {
  const { id, graph } = readAssistant(thread);
  const known = listed?.find((one) => one.assistant_id === id);
  const found = useQuery({
    queryKey: ["assistant", id, graph],
    enabled: id !== undefined && listed !== undefined && !known,
    queryFn: async ({ signal }) => {
      const path = `/assistants/${encodeURIComponent(id ?? "")}`;
      const own = await call<Assistant>("GET", path, undefined, signal).catch(missing);
      if (own || graph === undefined) return own;
      const body = { graph_id: graph, limit: 1 };
      return (await call<Assistant[]>("POST", "/assistants/search", body, signal))[0] ?? null;
    },
    staleTime: 30_000,
  });
  return { own: known ?? found.data, error: found.error, refetch: found.refetch };
}

/** Not there, or not an id: both are an answer. */
function missing(error: unknown): null {
  if (error instanceof ApiError && [404, 422].includes(error.status)) return null;
  throw error;
}

/** What the page asks the server for, cached and kept fresh. */
import { keepPreviousData, QueryClient, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ApiError, call } from "./http.ts";
import type { Assistant, AssistantSchemas, Run, ThreadRow, ThreadState } from "./types.ts";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A refusal stays one; only silence is worth asking again.
      retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500),
    },
  },
});

const PAGE = 50;

/** The threads, newest first, 50 at a time. Looked at again every 4 s while the page is seen. */
export function useThreads(enabled: boolean) {
  return useInfiniteQuery({
    queryKey: ["threads"],
    enabled,
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      call<ThreadRow[]>(
        "POST",
        "/threads/search",
        {
          limit: PAGE,
          offset: pageParam,
          sort_by: "updated_at",
          sort_order: "desc",
          select: ["thread_id", "status", "created_at", "updated_at", "metadata", "interrupts"],
          extract: { first: "values.messages[0].content" },
        },
        signal,
      ),
    getNextPageParam: (last, pages) => (last.length < PAGE ? undefined : pages.length * PAGE),
    refetchInterval: 4_000,
    placeholderData: keepPreviousData,
  });
}

export function useAssistants() {
  return useQuery({
    queryKey: ["assistants"],
    queryFn: ({ signal }) => call<Assistant[]>("POST", "/assistants/search", { limit: 100 }, signal),
    staleTime: 30_000,
  });
}

export function useSchemas(assistantId: string | undefined) {
  return useQuery({
    queryKey: ["schemas", assistantId],
    enabled: assistantId !== undefined,
    queryFn: ({ signal }) => call<AssistantSchemas>("GET", `/assistants/${assistantId}/schemas`, undefined, signal),
    staleTime: 300_000,
  });
}

const HISTORY_PAGE = 60;
const HISTORY_MOST = 180;

/** The thread's checkpoints, newest first: what the rail and the branches are drawn from. */
export function useHistory(threadId: string | undefined, enabled: boolean) {
  return useQuery({
    queryKey: ["history", threadId],
    enabled: enabled && threadId !== undefined,
    queryFn: async ({ signal }) => {
      const all: ThreadState[] = [];
      for (let before: string | undefined; all.length < HISTORY_MOST; before = all.at(-1)?.checkpoint.checkpoint_id) {
        const page = await call<ThreadState[]>(
          "POST",
          `/threads/${threadId}/history`,
          { limit: HISTORY_PAGE, ...(before ? { before: { configurable: { checkpoint_id: before } } } : {}) },
          signal,
        ).catch((error: unknown) => {
          if (error instanceof ApiError && error.status === 404) return [];
          throw error;
        });
        all.push(...page.filter((state) => !state.checkpoint.checkpoint_ns));
        if (page.length < HISTORY_PAGE) break;
      }
      return all;
    },
    // What is drawn from it must not be older than the stream.
    staleTime: 0,
  });
}

/** The thread as it stands: the truth about what waits for a decision. Null where there is none yet. */
export function useThreadState(threadId: string | undefined, enabled: boolean) {
  return useQuery({
    queryKey: ["state", threadId],
    enabled: enabled && threadId !== undefined,
    queryFn: ({ signal }) =>
      call<ThreadState>("GET", `/threads/${threadId}/state`, undefined, signal).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }),
    staleTime: 0,
  });
}

export async function renameThread(threadId: string, title: string): Promise<void> {
  await call("PATCH", `/threads/${threadId}`, { metadata: { title } });
  await queryClient.invalidateQueries({ queryKey: ["threads"] });
}

export async function deleteThread(threadId: string): Promise<void> {
  await call("DELETE", `/threads/${threadId}`);
  await queryClient.invalidateQueries({ queryKey: ["threads"] });
}

/** Cancels what runs or waits on the thread, also what another tab or the API started. */
export async function cancelRuns(threadId: string): Promise<void> {
  const runs = await call<Run[]>("GET", `/threads/${threadId}/runs?limit=20`);
  const open = runs.filter((run) => run.status === "running" || run.status === "pending");
  await Promise.all(
    open.map((run) => call("POST", `/threads/${threadId}/runs/${run.run_id}/cancel?wait=0&action=interrupt`)),
  );
}

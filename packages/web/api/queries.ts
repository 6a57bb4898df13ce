/** Reads of the server that several views share, cached and kept fresh. */
import {
  type InfiniteData,
  keepPreviousData,
  QueryClient,
  useInfiniteQuery,
  useQueries,
  useQuery,
  type UseInfiniteQueryResult,
} from "@tanstack/react-query";
import { joined, type Step } from "./checkpoints.ts";
import { ApiError, call, callFor, none } from "./http.ts";
import {
  assistantsRead,
  infoRead,
  newestRunsRead,
  PROJECTS_PAGE,
  THREADS_PAGE,
  threadsRead,
  projectsRead,
} from "./requests.ts";
import type { Assistant, AssistantSchemas, HistoryStep, Run, ThreadRow, ThreadState } from "./types.ts";
import { useEffect } from "react";

/** Milliseconds for which a view that opens shows an answer without reading again. */
export const FRESH_MS = 5_000;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      // Retry only when there is no answer. A refusal does not change.
      retry: (count, error) => count < 2 && (!(error instanceof ApiError) || error.status === 0 || error.status >= 500),
    },
  },
});

/** Words that the server searches for at once. */
const WORDS = 10;

/**
 * The threads, newest first, 50 at a time. Read again every 4 s while the page is seen, every 30 s with more than 50.
 * `query`: only those with each of these words in the title or in a message, read once.
 */
export function useThreads(enabled: boolean, query = "") {
  const words = query.split(/\s+/).slice(0, WORDS).join(" ");
  return useInfiniteQuery({
    queryKey: threadsRead(words, 0).key,
    enabled,
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) => callFor<ThreadRow[]>(threadsRead(words, pageParam).request, signal),
    getNextPageParam: (last, pages) => (last.length < THREADS_PAGE ? undefined : pages.length * THREADS_PAGE),
    // All pages that are in view are read again, and a search reads every thread.
    refetchInterval: ({ state }) => (words !== "" ? false : (state.data?.pages.length ?? 0) > 1 ? 30_000 : 4_000),
    placeholderData: keepPreviousData,
  });
}

export function useAssistants() {
  return useQuery({
    queryKey: assistantsRead.key,
    queryFn: ({ signal }) => callFor<Assistant[]>(assistantsRead.request, signal),
    staleTime: 30_000,
  });
}

/** Version and features of this server. They do not change while the page is open. */
export function useInfo() {
  return useQuery({
    queryKey: infoRead.key,
    queryFn: ({ signal }) =>
      callFor<{ weir_version: string; flags: { openai_key?: boolean } }>(infoRead.request, signal),
    staleTime: Infinity,
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

const HISTORY_PAGE = 100;
/** Checkpoints that are read at most at once; about 300 runs of an agent that uses tools. */
const HISTORY_MOST = 1_000;

const historyKey = (threadId: string | undefined) => ["history", threadId];

/**
 * The thread's checkpoints, newest first, without their values: their size grows with the thread, and a history with them
 * with its square. Only new ones are requested again.
 */
export function useHistory(threadId: string | undefined, phase: number, change: string | undefined, enabled: boolean) {
  return useQuery({
    queryKey: [...historyKey(threadId), phase, change],
    enabled: enabled && threadId !== undefined,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => {
      const known = queryClient.getQueryData<Step[]>(historyKey(threadId)) ?? [];
      const ids = new Set(known.map((step) => step.id));
      let steps = known;
      let before: string | undefined;
      for (let read = 0; read < HISTORY_MOST; read += HISTORY_PAGE) {
        const page = await call<HistoryStep[]>(
          "POST",
          `/threads/${threadId}/history`,
          {
            limit: HISTORY_PAGE,
            select: ["checkpoint", "parent_checkpoint", "created_at", "metadata", "next"],
            extract: { last: "values.messages[-1].id" },
            ...(before ? { before: { configurable: { checkpoint_id: before } } } : {}),
          },
          signal,
        ).catch(none);
        steps = joined(steps, (page ?? []).filter((state) => !state.checkpoint.checkpoint_ns).map(toStep));
        before = page?.at(-1)?.checkpoint.checkpoint_id;
        if (!page || page.length < HISTORY_PAGE || ids.has(before ?? "")) break;
      }
      // Only a complete read is cached: the next one stops at the cached part.
      queryClient.setQueryData(historyKey(threadId), steps);
      return steps;
    },
    staleTime: 0,
  });
}

function toStep({ checkpoint, parent_checkpoint, created_at, metadata, next, extracted }: HistoryStep): Step {
  return {
    id: checkpoint.checkpoint_id,
    parent: parent_checkpoint?.checkpoint_id,
    at: created_at ?? undefined,
    run: metadata?.run_id,
    source: metadata?.source,
    next,
    last: typeof extracted.last === "string" ? extracted.last : null,
  };
}

/** The messages at a checkpoint, which never change. */
export function useMessagesAt(threadId: string | undefined, checkpoint: string | undefined) {
  return useQuery({
    queryKey: ["messages", threadId, checkpoint],
    enabled: threadId !== undefined && checkpoint !== undefined,
    queryFn: async ({ signal }) => {
      const path = `/threads/${threadId}/state/${checkpoint}?select=values.messages`;
      return (await call<Pick<ThreadState, "values">>("GET", path, undefined, signal)).values?.messages ?? [];
    },
    staleTime: Infinity,
  });
}

const isOpen = (run: Run) => run.status === "running" || run.status === "pending";

/**
 * The thread's newest runs, once for each phase of it.
 *
 * @param change another value reads them again in the same phase
 */
export function useRuns(threadId: string | undefined, phase: number, change?: string) {
  return useQuery({
    queryKey: ["runs", threadId, phase, change],
    enabled: threadId !== undefined,
    queryFn: async ({ signal }) => {
      const runs = (await callFor<Run[]>(newestRunsRead(threadId ?? "").request, signal).catch(none)) ?? [];
      const running = runs.find((run) => run.status === "running") ?? runs.findLast(isOpen);
      return { open: running !== undefined, newest: (running ?? runs[0])?.run_id };
    },
    staleTime: 0,
    gcTime: 0,
  });
}

/** Runs in full: what a person answered is in them. A run that is over never changes. */
export function useRunDetails(threadId: string | undefined, runIds: string[]) {
  return useQueries({
    queries: runIds.map((runId) => ({
      queryKey: ["run", threadId, runId],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call<Run>("GET", `/threads/${threadId}/runs/${runId}`, undefined, signal),
      staleTime: Infinity,
    })),
  });
}

export interface InterruptLink {
  url: string;
  expires_at: string;
}

/** Makes a link by which a question is answered without an account. Its address is shown once. */
export const createInterruptLink = (threadId: string, interruptId: string): Promise<InterruptLink> =>
  call("POST", `/threads/${threadId}/interrupts/${encodeURIComponent(interruptId)}/links`, {});

/** The row of a thread in the lists that are loaded. */
export const listedThread = (threadId: string | undefined): ThreadRow | undefined =>
  queryClient
    .getQueryData<InfiniteData<ThreadRow[]>>(["threads"])
    ?.pages.flat()
    .find((row) => row.thread_id === threadId);

/** Whether the answer of a query is here or on its way. A thread of the list needs no request of its own. */
export const isKnown = (key: readonly unknown[]): boolean =>
  queryClient.getQueryState(key) !== undefined || (key[0] === "thread" && listedThread(String(key[1])) !== undefined);

/** Whether no query waits for an answer. The assistants cannot be read before the sign-in. */
export const isQuiet = (): boolean =>
  queryClient.getQueryData(assistantsRead.key) !== undefined && queryClient.isFetching() === 0;

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
  const runs = await call<Run[]>("GET", `/threads/${threadId}/runs?limit=20&select=run_id,status`);
  const cancelled = runs.filter(isOpen).map((run) => `/threads/${threadId}/runs/${run.run_id}/cancel`);
  await Promise.all(cancelled.map((path) => call("POST", `${path}?wait=1&action=interrupt`)));
}

/** The projects that traces are in. */
export interface Project {
  id: string;
  name: string;
}

/** The projects with the newest runs, at most a hundred: lists of choices have more (`useProjectChoice`). */
export function useProjects() {
  return useQuery({
    queryKey: projectsRead.key,
    queryFn: ({ signal }) => callFor<Project[]>(projectsRead.request, signal),
  });
}

/**
 * The projects to choose from: those with the newest runs, or of all projects those with the words in their names. The chosen one
 * is always among them. `isLong`: the workspace has more than are listed without words.
 */
export function useProjectChoice(chosen: string, words: string): { projects: Project[]; isLong: boolean } {
  const newest = useProjects().data ?? [];
  const isLong = newest.length >= PROJECTS_PAGE;
  const named = useQuery({
    queryKey: ["projects", "named", words],
    enabled: isLong && words !== "",
    queryFn: ({ signal }) =>
      callFor<Project[]>(["GET", `${projectsRead.request[1]}&name_contains=${encodeURIComponent(words)}`], signal),
    placeholderData: keepPreviousData,
  });
  const listed = words === "" ? newest : (named.data ?? []);
  const known = [...newest, ...listed].find(({ id }) => id === chosen);
  const one = useQuery({
    queryKey: ["projects", chosen],
    enabled: chosen !== "" && isLong && known === undefined,
    queryFn: ({ signal }) => callFor<Project>(["GET", `/api/v1/sessions/${encodeURIComponent(chosen)}`], signal),
  });
  const added = known ?? one.data;
  const isListed = listed.some(({ id }) => id === chosen);
  return { projects: isListed || !added ? listed : [added, ...listed], isLong };
}

// Reads the pages of a list until what is sought is among its rows.

type Pages = Pick<UseInfiniteQueryResult, "hasNextPage" | "isFetching" | "isError" | "fetchNextPage">;

/** Requests the next page while `sought` is true, up to the last page or an error. */
export function useReadOn({ hasNextPage, isFetching, isError, fetchNextPage }: Pages, sought: boolean): void {
  useEffect(() => {
    if (sought && hasNextPage && !isFetching && !isError) void fetchNextPage();
  }, [sought, hasNextPage, isFetching, isError, fetchNextPage]);
}

/** Reads of the views of threads. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import type { ThreadRow, ThreadState } from "../../api/types.ts";
import { useProjects } from "../../api/queries.ts";
import type { Range } from "../../resources/range.ts";

const PAGE = 100;

/**
 * The threads that changed in a time range, the newest first. A page that leaves the range is the last.
 *
 * @param words only those with each of these words in the title or in a message
 */
export function useAllThreads(range: Range, words: string) {
  return useInfiniteQuery({
    queryKey: ["all-threads", range.key, words],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      call<ThreadRow[]>(
        "POST",
        "/threads/search",
        {
          ...(words !== "" && { query: words }),
          limit: PAGE,
          offset: pageParam,
          sort_by: "updated_at",
          sort_order: "desc",
          select: ["thread_id", "status", "created_at", "updated_at", "metadata", "interrupts"],
          extract: { first: "values.messages[0].content" },
        },
        signal,
      ),
    getNextPageParam: (last, pages) => {
      const oldest = last.at(-1);
      const over = last.length < PAGE || (oldest && Date.parse(oldest.updated_at) < range.from);
      return over ? undefined : pages.length * PAGE;
    },
    select: ({ pages }) => ({
      rows: pages.flat().filter(({ updated_at }) => {
        const at = Date.parse(updated_at);
        return at >= range.from && (range.to === undefined || at < range.to);
      }),
    }),
    placeholderData: keepPreviousData,
  });
}

export function useThreadRow(id: string) {
  return useQuery({
    queryKey: ["thread-row", id],
    queryFn: ({ signal }) => call<ThreadRow>("GET", `/threads/${encodeURIComponent(id)}`, undefined, signal),
  });
}

const CHECKPOINTS = 50;

/** The checkpoints of a thread, newest first, without their values. */
export function useCheckpoints(id: string) {
  return useInfiniteQuery({
    queryKey: ["checkpoints", id],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call<ThreadState[]>(
        "POST",
        `/threads/${encodeURIComponent(id)}/history`,
        {
          limit: CHECKPOINTS,
          select: ["next", "checkpoint", "parent_checkpoint", "metadata", "created_at"],
          ...(pageParam === undefined ? {} : { before: { configurable: { checkpoint_id: pageParam } } }),
        },
        signal,
      ),
    getNextPageParam: (last) => (last.length < CHECKPOINTS ? undefined : last.at(-1)?.checkpoint.checkpoint_id),
    select: ({ pages }) => ({ rows: pages.flat().filter(({ checkpoint }) => !checkpoint.checkpoint_ns) }),
  });
}

/** The state at a checkpoint. It never changes. */
export function useStateAt(id: string, checkpoint: string | undefined) {
  return useQuery({
    queryKey: ["state-at", id, checkpoint],
    enabled: checkpoint !== undefined,
    queryFn: ({ signal }) => call<ThreadState>("GET", `/threads/${id}/state/${checkpoint}`, undefined, signal),
    staleTime: Infinity,
  });
}

/** The traced runs of a thread since it was made, and what they cost. */
export function useSpent(thread: ThreadRow | undefined) {
  return useQuery({
    queryKey: ["spent", thread?.thread_id],
    enabled: thread !== undefined,
    queryFn: async ({ signal }) => {
      const { thread_id, created_at } = thread as ThreadRow;
      const body = {
        is_root: true,
        interval: "day",
        start_time: created_at,
        filter: `eq(thread_id, ${JSON.stringify(thread_id)})`,
      };
      return (await call<{ total: Spent }>("POST", "/api/v1/runs/stats/series", body, signal)).total;
    },
  });
}

interface Spent {
  run_count: number;
  total_tokens: number;
  total_cost: number;
}

/** The projects that are searched for the runs of the listed threads: those that were active last. */
const PROJECTS = 3;

export interface SpentByThread {
  runs: number;
  cost: number;
  /** Seconds, of half of its runs; null while none has ended. Of the project that was active last. */
  latency: number | null;
}

/** The traced runs in a range, their cost and their latency, by thread. */
export function useSpentByThread(range: Range) {
  const projects = useProjects();
  const ids = projects.data?.slice(0, PROJECTS).map(({ id }) => id) ?? [];
  return useQuery({
    queryKey: ["spent-by-thread", range.key, ids.join()],
    enabled: projects.data !== undefined,
    queryFn: async ({ signal }) => {
      const found = new Map<string, SpentByThread>();
      for (const session_id of ids) {
        const body = {
          session_id,
          limit: 1000,
          start_time: new Date(range.from).toISOString(),
          ...(range.to === undefined ? {} : { end_time: new Date(range.to).toISOString() }),
        };
        interface Groups {
          groups: { thread_id: string; count: number; total_cost: number; latency_p50: number | null }[];
        }
        const { groups } = await call<Groups>("POST", "/api/v1/runs/group", body, signal);
        for (const { thread_id, count, total_cost, latency_p50 } of groups) {
          const known = found.get(thread_id);
          found.set(thread_id, {
            runs: (known?.runs ?? 0) + count,
            cost: (known?.cost ?? 0) + total_cost,
            latency: known?.latency ?? latency_p50,
          });
        }
      }
      return found;
    },
  });
}

export const text = (value: unknown) => (typeof value === "string" ? value : "");

/** Who a thread belongs to: what an auth handler noted in its metadata. */
export const readOwner = ({ metadata }: ThreadRow) =>
  text(metadata?.owner) || text(metadata?.user_id) || text(metadata?.user);

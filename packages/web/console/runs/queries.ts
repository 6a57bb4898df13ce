/** What the view of runs asks the server for: those that are open of their threads, those that have ended of their traces. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useCallback } from "react";
import { call } from "../../api/http.ts";
import { readAgain, useActivity } from "../../api/live.ts";
import { queryClient } from "../../api/queries.ts";
import type { ThreadRow } from "../../api/types.ts";
import { useProjects } from "../../api/projects.ts";
import type { TraceRow } from "../../trace/types.ts";
import type { Range } from "../../page/range.ts";
import type { OpenRun } from "./open.ts";

const OPEN = ["open-runs"];

/** Milliseconds between two readings of the open runs: the order of a queue changes without a change of its thread. */
const AGAIN = 5_000;

/** The runs of all threads that run or wait. */
export function useOpenRuns() {
  return useQuery({
    queryKey: OPEN,
    queryFn: ({ signal }) =>
      call<{ runs: OpenRun[]; complete: boolean }>("GET", "/api/v1/activity/runs", undefined, signal),
    refetchInterval: ({ state }) => ((state.data?.runs.length ?? 0) > 0 ? AGAIN : false),
  });
}

const TITLES_MOST = 1_000;

/** The threads of these ids by id, with what their titles are made of. */
export function useThreadsById(ids: string[]) {
  const wanted = [...new Set(ids)].toSorted().slice(0, TITLES_MOST);
  return useQuery({
    queryKey: ["threads-by-id", wanted.join()],
    enabled: wanted.length > 0,
    queryFn: async ({ signal }) => {
      const body = {
        ids: wanted,
        limit: TITLES_MOST,
        select: ["thread_id", "status", "created_at", "updated_at", "metadata"],
        extract: { first: "values.messages[0].content" },
      };
      const rows = await call<ThreadRow[]>("POST", "/threads/search", body, signal);
      return new Map(rows.map((row) => [row.thread_id, row]));
    },
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });
}

export type EndedRun = Pick<TraceRow, "trace_id" | "name" | "status" | "start_time" | "end_time" | "total_tokens"> & {
  thread_id: string | null;
  total_cost: string | null;
  error: string | null;
  inputs_preview: string | null;
  extra?: { runtime?: { run?: { status?: string } } };
};

/** How a run ended. Its trace is a success also when it stopped to ask a person. */
export const runStatus = ({ status, extra }: EndedRun): string =>
  extra?.runtime?.run?.status === "interrupted" ? "interrupted" : status;

const PAGE = 50;

/**
 * The runs of this server that ended in a time range, newest first. Their traces have the id of the run in the metadata, which
 * traces that others send do not.
 */
export function useEndedRuns(range: Range, failed: boolean, assistant: string) {
  const projects = useProjects();
  const ids = projects.data?.map(({ id }) => id) ?? [];
  const of =
    assistant === "" ? "" : `, and(eq(metadata_key, "assistant_id"), eq(metadata_value, ${JSON.stringify(assistant)}))`;
  const runs = useInfiniteQuery({
    queryKey: ["ended-runs", range.key, failed, assistant, ids.join()],
    enabled: projects.data !== undefined,
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) => {
      // A query over no project is a query over none.
      if (ids.length === 0) return { runs: [], cursors: { next: null } };
      const body = {
        session: ids,
        is_root: true,
        limit: PAGE,
        cursor: pageParam,
        filter: of === "" ? 'eq(metadata_key, "run_attempt")' : `and(eq(metadata_key, "run_attempt")${of})`,
        select: [
          "trace_id",
          "name",
          "status",
          "start_time",
          "end_time",
          "total_tokens",
          "total_cost",
          "error",
          "thread_id",
          "inputs_preview",
          "extra",
        ],
        start_time: new Date(range.from).toISOString(),
        ...(range.to === undefined ? {} : { end_time: new Date(range.to).toISOString() }),
        ...(failed && { error: true }),
      };
      return call<{ runs: EndedRun[]; cursors: { next: string | null } }>("POST", "/api/v1/runs/query", body, signal);
    },
    getNextPageParam: (last) => last.cursors.next ?? undefined,
    select: ({ pages }) => ({ rows: pages.flatMap(({ runs: rows }) => rows) }),
    placeholderData: keepPreviousData,
  });
  const { error, refetch } = projects;
  return error && !projects.data ? { ...runs, error, refetch: refetch as never } : runs;
}

/** Stops a run. One that ended a moment ago needs no stop. */
export async function cancelRun({ thread_id, run_id }: OpenRun): Promise<void> {
  await call("POST", `/threads/${thread_id}/runs/${run_id}/cancel?wait=1&action=interrupt`);
  await queryClient.invalidateQueries({ queryKey: OPEN });
}

/** Stops runs of all threads that wait for their turn. */
export async function cancelPending(): Promise<void> {
  await call("POST", "/runs/cancel?action=interrupt", { status: "pending" });
  await queryClient.invalidateQueries({ queryKey: OPEN });
}

/** Reads the lists again when threads change. A trace is written a moment after its run has ended. */
export function useLiveRuns(): void {
  useActivity(
    useCallback(() => {
      void readAgain(OPEN);
      setTimeout(() => void readAgain(["ended-runs"]), 1_500);
    }, []),
  );
}

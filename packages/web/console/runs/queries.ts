/** Reads of the view of runs: those that are open of their threads, those that failed of their traces. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useCallback } from "react";
import { call } from "../../api/http.ts";
import { readAgain, useActivity } from "../../api/activity.ts";
import { queryClient, useProjects } from "../../api/queries.ts";
import type { ThreadRow } from "../../api/types.ts";
import type { TraceRow } from "../../traces/types.ts";
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

/** A run that failed lately. */
export type FailedRun = Pick<TraceRow, "trace_id" | "name" | "status" | "start_time" | "end_time" | "error"> & {
  thread_id: string | null;
  extra?: { metadata?: { run_attempt?: number }; runtime?: { run?: { status?: string } } };
};

/** Minutes for which a failed run is listed. */
export const FAILED_MINUTES = 15;
/** A run that failed lately may have begun this long before, milliseconds. */
const LONGEST = 24 * 3_600_000;
const FAILED = ["failed-runs"];
const FAILED_MOST = 50;

/** A filter of traces for the runs of an assistant. */
export const writeAssistantFilter = (assistant: string): string =>
  `and(eq(metadata_key, "assistant_id"), eq(metadata_value, ${JSON.stringify(assistant)}))`;

/**
 * The runs of this server that failed in the last minutes, newest first. Their traces have the attempt of the run in the metadata,
 * which traces that others send do not.
 */
export function useFailedRuns(assistant: string) {
  const projects = useProjects();
  const ids = projects.data?.map(({ id }) => id) ?? [];
  const failed = useQuery({
    queryKey: [...FAILED, assistant, ids.join()],
    enabled: projects.data !== undefined,
    queryFn: async ({ signal }) => {
      // A query over no project is a query over none.
      if (ids.length === 0) return [];
      const since = new Date(Date.now() - FAILED_MINUTES * 60_000).toISOString();
      const conditions = ['eq(metadata_key, "run_attempt")', `gt(end_time, ${JSON.stringify(since)})`];
      if (assistant !== "") conditions.push(writeAssistantFilter(assistant));
      const body = {
        session: ids,
        is_root: true,
        error: true,
        limit: FAILED_MOST,
        filter: `and(${conditions.join(", ")})`,
        select: ["trace_id", "name", "status", "start_time", "end_time", "error", "thread_id", "extra"],
        start_time: new Date(Date.now() - LONGEST).toISOString(),
      };
      return (await call<{ runs: FailedRun[] }>("POST", "/api/v1/runs/query", body, signal)).runs;
    },
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  });
  const { error, refetch } = projects;
  return error && !projects.data ? { ...failed, error, refetch: refetch as never } : failed;
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
      setTimeout(() => void readAgain(FAILED), 1_500);
    }, []),
  );
}

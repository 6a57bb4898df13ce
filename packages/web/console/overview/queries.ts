/** Reads of the overview. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef } from "react";
import { call } from "../../api/http.ts";
import { readAgain, useActivity } from "../../api/activity.ts";
import type { ThreadRow } from "../../api/types.ts";
import { waits } from "../../chat/thread-row.ts";
import { useProjects } from "../../api/queries.ts";
import type { TraceRow } from "../../traces/types.ts";
import type { Range } from "../../resources/range.ts";

export interface RunMetrics {
  run_count: number;
  error_count: number;
  pending_count: number;
  total_tokens: number;
  total_cost: number;
  latency_p50: number | null;
  latency_p99: number | null;
}

export interface Bucket extends RunMetrics {
  start_time: string;
}

export interface Series {
  complete: boolean;
  total: RunMetrics;
  buckets: Bucket[];
}

const HOUR = 3_600_000;

/** The widest interval that still shows the course of a range. */
function chooseInterval({ from, to = Date.now() }: Range): "minute" | "hour" | "day" {
  if (to - from <= 3 * HOUR) return "minute";
  return to - from <= 72 * HOUR ? "hour" : "day";
}

const times = ({ from, to }: Range) => ({
  start_time: new Date(from).toISOString(),
  ...(to === undefined ? {} : { end_time: new Date(to).toISOString() }),
});

/** Figures of the traces of all projects over a range. */
export function useSeries(range: Range) {
  return useQuery({
    queryKey: ["overview", "series", range.key],
    queryFn: ({ signal }) =>
      call<Series>(
        "POST",
        "/api/v1/runs/stats/series",
        { is_root: true, interval: chooseInterval(range), ...times(range) },
        signal,
      ),
    placeholderData: keepPreviousData,
  });
}

/** The period before, which is as long. Read after the one that is shown. */
export function usePrevious(range: Range, enabled: boolean) {
  const { from, to = Date.now() } = range;
  return useQuery({
    queryKey: ["overview", "previous", range.key],
    enabled,
    queryFn: async ({ signal }) => {
      const before = { ...range, from: from - (to - from), to: from };
      const query = { is_root: true, interval: chooseInterval(before), ...times(before) };
      return call<Series>("POST", "/api/v1/runs/stats/series", query, signal);
    },
    staleTime: 60_000,
  });
}

const SHOWN = 6;

const PAGE = 100;
/** The most threads of a status that are read: most interrupted ones may have been stopped. */
const MOST = 1_000;

interface Some<T> {
  rows: T[];
  /** How many were found, with those that are not among the rows. */
  count: number;
}

function useThreadsByStatus(status: "busy" | "interrupted", keep: (row: ThreadRow) => boolean) {
  return useQuery({
    queryKey: ["overview", "threads", status],
    queryFn: async ({ signal }): Promise<Some<ThreadRow>> => {
      const search = {
        status,
        limit: PAGE,
        sort_by: "updated_at",
        sort_order: "desc",
        select: ["thread_id", "status", "created_at", "updated_at", "metadata", "interrupts"],
        extract: { first: "values.messages[0].content" },
      };
      const rows: ThreadRow[] = [];
      for (let offset = 0; offset < MOST && rows.length < SHOWN; offset += PAGE) {
        const page = await call<ThreadRow[]>("POST", "/threads/search", { ...search, offset }, signal);
        rows.push(...page.filter(keep));
        if (page.length < PAGE) break;
      }
      return { rows: rows.slice(0, SHOWN), count: rows.length };
    },
  });
}

export const useWaiting = () => useThreadsByStatus("interrupted", waits);

export const useRunning = () => useThreadsByStatus("busy", () => true);

type FailedTrace = Pick<TraceRow, "trace_id" | "name" | "start_time" | "error">;

/** Failures with the same name and the same first line of the error. */
interface Failure {
  latest: FailedTrace;
  message: string;
  count: number;
  /** There may be more than those that were read. */
  isCut: boolean;
}

/** The failed traces that are read: one group of them may be all. */
const RECENT = 50;

/** In the order of the latest of each. */
function groupFailures(traces: FailedTrace[]): Failure[] {
  const groups = new Map<string, Failure>();
  for (const latest of traces) {
    const message = latest.error?.split("\n")[0] ?? "";
    const key = JSON.stringify([latest.name, message]);
    const group = groups.get(key);
    if (group) group.count += 1;
    else groups.set(key, { latest, message, count: 1, isCut: traces.length === RECENT });
  }
  return [...groups.values()].slice(0, SHOWN);
}

/** The latest failures, of the projects that were active last. */
export function useFailed(range: Range) {
  const projects = useProjects();
  const ids = projects.data?.map(({ id }) => id) ?? [];
  return useQuery({
    queryKey: ["overview", "failed", range.key, ids.join()],
    enabled: projects.data !== undefined,
    queryFn: async ({ signal }) => {
      if (ids.length === 0) return [];
      const query = {
        session: ids,
        is_root: true,
        error: true,
        limit: RECENT,
        select: ["trace_id", "name", "start_time", "error"],
        ...times(range),
      };
      const { runs } = await call<{ runs: FailedTrace[] }>("POST", "/api/v1/runs/query", query, signal);
      return groupFailures(runs);
    },
    placeholderData: keepPreviousData,
  });
}

export interface Export {
  id: string;
  status: string;
  error: string | null;
  interval_hours: number | null;
  created_at: string;
  finished_at: string | null;
  progress: { rows_written: number; fraction: number };
}

export function useExports() {
  return useQuery({
    queryKey: ["overview", "exports"],
    queryFn: ({ signal }) => call<Export[]>("GET", "/api/v1/bulk-exports?limit=100", undefined, signal),
  });
}

/** Milliseconds between two readings of the figures, which cost more than the lists. */
const METRICS = 10_000;

/** Reads the lists again when threads change, and the figures at most every ten seconds, the last change included. */
export function useLive(): void {
  const last = useRef(Date.now());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(
    () => () => {
      clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  useActivity(
    useCallback(() => {
      void readAgain(["overview", "threads"]);
      timer.current ??= setTimeout(
        () => {
          timer.current = undefined;
          last.current = Date.now();
          void readAgain(["overview", "series"]);
          void readAgain(["overview", "failed"]);
        },
        Math.max(0, last.current + METRICS - Date.now()),
      );
    }, []),
  );
}

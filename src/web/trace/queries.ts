/** What the trace views ask the server for, over the same API that LangSmith's clients use. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ApiError, call, callFor } from "../api/http.ts";
import { FIRST_RUNS, traceRequest } from "../api/requests.ts";
import type { Range } from "../page/range.ts";
import { selectRuns } from "./figures.ts";
import type { RunDetails, Span, TraceRow, Wanted } from "./types.ts";

const PAGE = 50;
const LIGHT = [
  "trace_id",
  "name",
  "status",
  "start_time",
  "end_time",
  "first_token_time",
  "total_tokens",
  "total_cost",
  "inputs_preview",
  "outputs_preview",
  "feedback_stats",
  "error",
];

/** The traces of a project in a time range, by start. Found traces stay visible while more are requested. */
export function useTraces(wanted: Wanted, range: Range, order: "asc" | "desc") {
  return useInfiniteQuery({
    queryKey: ["traces", "list", wanted, range.key, order],
    enabled: wanted.project !== undefined,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call<{ runs: TraceRow[]; cursors: { next: string | null } }>(
        "POST",
        "/api/v1/runs/query",
        {
          ...selectRuns(wanted, range),
          limit: PAGE,
          select: LIGHT,
          cursor: pageParam,
          order,
        },
        signal,
      ),
    getNextPageParam: (last) => last.cursors.next ?? undefined,
    select: ({ pages }) => ({ rows: pages.flatMap(({ runs }) => runs) }),
    placeholderData: keepPreviousData,
  });
}

/** A run's trace is written after its end: a missing or unfinished trace is read again, at most this many times. */
const LOOKS = 8;
const AGAIN = 2_000;

/** The runs of a trace, each after its parent. `more`: these are the first ones, and the others are requested. */
interface TraceRuns {
  runs: Span[];
  more: boolean;
}

/** The runs of a trace. The first rows of a large trace are shown while the others load. */
export function useTrace(traceId: string, project: string | null) {
  const queryKey = ["trace", traceId, project];
  return useQuery({
    queryKey,
    queryFn: async ({ client, signal }): Promise<TraceRuns> => {
      const read = async (first: boolean) => {
        const { items } = await callFor<{ items: Span[] }>(traceRequest(traceId, project, first), signal);
        return project === null ? items : items.map((run) => ({ ...run, project_id: project }));
      };
      if (client.getQueryData(queryKey) === undefined) {
        const runs = await read(true);
        if (runs.length < FIRST_RUNS) return { runs, more: false };
        client.setQueryData(queryKey, { runs, more: true });
      }
      return { runs: await read(false), more: false };
    },
    refetchInterval: ({ state: { data, dataUpdateCount } }) =>
      data &&
      dataUpdateCount < LOOKS &&
      (data.runs.length === 0 || data.runs.some(({ status }) => status === "PENDING"))
        ? AGAIN
        : false,
  });
}

export function useRun({ id, project_id, start_time, status }: Span) {
  const query = new URLSearchParams({ session_id: project_id, start_time });
  return useQuery({
    queryKey: ["run", id, status],
    queryFn: ({ signal }) => call<RunDetails>("GET", `/api/v1/runs/${id}?${query}`, undefined, signal),
    staleTime: 60_000,
  });
}

/** Whether a thread that a trace names is one of this server: others have theirs elsewhere. */
export function useThreadHere(threadId: string | null | undefined) {
  return useQuery({
    queryKey: ["thread-here", threadId],
    enabled: typeof threadId === "string",
    queryFn: ({ signal }) =>
      call("GET", `/threads/${encodeURIComponent(threadId ?? "")}`, undefined, signal).then(
        () => true,
        (error: unknown) => {
          if (error instanceof ApiError && [404, 422].includes(error.status)) return false;
          throw error;
        },
      ),
    staleTime: 60_000,
  });
}

/** Requests of the trace views, over the same API that LangSmith's clients use. */
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ApiError, call, callFor } from "../api/http.ts";
import type { Range } from "../resources/range.ts";
import type { Sort } from "../ui/Table.tsx";
import { FIRST_RUNS, listRead, traceRead } from "./requests.ts";
import type { RunDetails, Span, TraceRow, Wanted } from "./types.ts";

/** The traces of a project in a time range. Found traces stay visible while more are requested. */
export function useTraces(wanted: Wanted, range: Range, sort: Sort) {
  return useInfiniteQuery({
    queryKey: listRead(wanted, range, sort).key,
    enabled: wanted.project !== undefined,
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      callFor<{ runs: TraceRow[]; cursors: { next: string | null }; complete?: boolean }>(
        listRead(wanted, range, sort, pageParam).request,
        signal,
      ),
    getNextPageParam: (last) => last.cursors.next ?? undefined,
    select: ({ pages }) => ({
      rows: pages.flatMap(({ runs }) => runs),
      isComplete: pages.every(({ complete }) => complete !== false),
    }),
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
  const queryKey = traceRead(traceId, project, true).key;
  return useQuery({
    queryKey,
    queryFn: async ({ client, signal }): Promise<TraceRuns> => {
      const read = async (first: boolean) => {
        const { items } = await callFor<{ items: Span[] }>(traceRead(traceId, project, first).request, signal);
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

/** Members of a run that the details show. The ids of its children are not in it: of a root of 2,000 runs they are 84 KB. */
const DETAILS = [
  "start_time",
  "first_token_time",
  "inputs",
  "outputs",
  "error",
  "extra",
  "tags",
  "thread_id",
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "total_cost",
];

export function useRun({ id, project_id, start_time, status }: Span) {
  return useQuery({
    queryKey: ["run", id, status],
    queryFn: async ({ signal }) => {
      const query = { id: [id], session: [project_id], start_time, select: DETAILS, limit: 1 };
      const { runs } = await call<{ runs: RunDetails[] }>("POST", "/api/v1/runs/query", query, signal);
      const [run] = runs;
      if (run === undefined) throw new ApiError(404, "The run was not found.");
      return run;
    },
    staleTime: 60_000,
  });
}

/** The whole run, as the API has it. */
export function useRawRun({ id, project_id, start_time, status }: Span) {
  const query = new URLSearchParams({ session_id: project_id, start_time });
  return useQuery({
    queryKey: ["run", id, status, "raw"],
    queryFn: ({ signal }) => call<unknown>("GET", `/api/v1/runs/${id}?${query}`, undefined, signal),
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

/** Stored data of the workspace, and the cost of its model calls, by UTC day. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import type { Range } from "../../resources/range.ts";
import type { RunMetrics, Series } from "../overview/queries.ts";
import { type Day, findDays, forecastMonth } from "./metrics.ts";

export interface Usage {
  start_date: string;
  end_date: string;
  traces: { runs: number; bytes: number; days: Day[] };
  threads: Record<string, number>;
  assistants: number;
  store_items: number;
}

/** Figures of runs with the same model. An empty key: runs that name none. */
export interface Group extends RunMetrics {
  key: string;
  prompt_tokens: number;
  completion_tokens: number;
}

export function useUsage(range: Range) {
  const { first, last } = findDays(range);
  return useQuery({
    queryKey: ["usage", "held", first, last],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ start_date: first, end_date: last });
      return call<Usage>("GET", `/api/v1/usage?${query}`, undefined, signal);
    },
    placeholderData: keepPreviousData,
  });
}

/** Tokens and cost of the traces by day, and of model calls by model. */
export function useSpent(range: Range) {
  const { first, last } = findDays(range);
  return useQuery({
    queryKey: ["usage", "spent", first, last],
    queryFn: async ({ signal }) => {
      const times = { start_time: `${first}T00:00:00Z`, end_time: `${last}T23:59:59.999Z` };
      const count = (body: object) =>
        call<Series & { groups: Group[] | null }>(
          "POST",
          "/api/v1/runs/stats/series",
          { interval: "day", ...times, ...body },
          signal,
        );
      const [traces, models] = await Promise.all([
        count({ is_root: true }),
        count({ run_type: "llm", by: "model", max_groups: 50 }),
      ]);
      return { ...traces, complete: traces.complete && models.complete, models: models.groups ?? [] };
    },
    placeholderData: keepPreviousData,
  });
}

/** The cost of this month, whatever the time range is. */
export function useMonth() {
  const month = new Date().toISOString().slice(0, 7);
  return useQuery({
    queryKey: ["usage", "month", month],
    queryFn: async ({ signal }) => {
      const query = { interval: "day", is_root: true, start_time: `${month}-01T00:00:00Z` };
      const { buckets, complete } = await call<Series>("POST", "/api/v1/runs/stats/series", query, signal);
      return { ...forecastMonth(buckets, Date.now()), complete };
    },
  });
}

/** Counts of the list of traces over its range: the course of the runs, and the values of a facet. */
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import type { Range } from "../../resources/range.ts";
import { withoutFacet } from "./facets.ts";
import { selectRuns } from "../requests.ts";
import type { TraceRow, Wanted } from "../types.ts";

interface TraceMetrics {
  run_count: number;
  error_count: number;
  pending_count: number;
}

export interface Course {
  total: TraceMetrics;
  buckets: (TraceMetrics & { start_time: string })[];
  /** The names of the runs; undefined where they were not counted. */
  groups?: Value[] | undefined;
}

/** A value of a facet, and how many runs have it. */
export interface Value {
  key: string;
  count: number;
}

interface MetricsResponse extends Omit<Course, "groups"> {
  groups: ({ key: string } & TraceMetrics)[] | null;
}

const valuesIn = ({ groups }: MetricsResponse): Value[] =>
  (groups ?? []).flatMap(({ key, run_count }) => (key === "" || key === "null" ? [] : [{ key, count: run_count }]));

/** The most values of a facet. */
export const GROUPS = 20;
const HOUR = 3_600_000;

const intervalFor = ({ from, to = Date.now() }: Range) =>
  to - from <= 3 * HOUR ? "minute" : to - from <= 72 * HOUR ? "hour" : "day";

/** The runs by minute, hour or day. `isGrouped`: with their names in the same request, unless the runs of one name are wanted. */
export function useCourse(
  wanted: Wanted,
  range: Range,
  { enabled, isGrouped }: { enabled: boolean; isGrouped: boolean },
) {
  const groups = isGrouped && wanted.facets.name === undefined ? { by: "name", max_groups: GROUPS } : {};
  return useQuery({
    queryKey: ["traces", "course", wanted, range.key, groups],
    enabled: enabled && wanted.project !== undefined,
    queryFn: async ({ signal }): Promise<Course> => {
      const query = { ...selectRuns(wanted, range), interval: intervalFor(range), ...groups };
      const answer = await call<MetricsResponse>("POST", "/api/v1/runs/stats/series", query, signal);
      return { ...answer, groups: answer.groups === null ? undefined : valuesIn(answer) };
    },
    placeholderData: keepPreviousData,
  });
}

/** The facets whose values are counted, as the server names what they are. */
const COUNTED = { name: "name", model: "trace_model", tag: "tag", user: "user", feedback: "feedback" } as const;

/** The values of a facet within the range and the other facets, with how many runs have each. */
export function useGroups(wanted: Wanted, range: Range, facet: keyof typeof COUNTED, enabled = true) {
  const counted = { ...wanted, facets: withoutFacet(wanted.facets, facet) };
  return useQuery({
    queryKey: ["traces", "groups", facet, counted, range.key],
    enabled: enabled && wanted.project !== undefined,
    queryFn: async ({ signal }) => {
      // A key of feedback has up to three values.
      const most = facet === "feedback" ? 3 * GROUPS : GROUPS;
      const query = { ...selectRuns(counted, range), interval: "day", by: COUNTED[facet], max_groups: most };
      return valuesIn(await call<MetricsResponse>("POST", "/api/v1/runs/stats/series", query, signal));
    },
    placeholderData: keepPreviousData,
  });
}

/** Traces of one request, as the list reads them, and runs of one answer. */
const CHUNK = 50;
const PAGE = 100;

type FirstTokens = [trace: string, time: string][];

/** When the first model of each of these traces gave its first token: a root calls no model itself. */
export function useFirstTokens(project: string | undefined, rows: TraceRow[], enabled: boolean): Map<string, string> {
  const ids = rows.filter(({ end_time }) => end_time !== null).map(({ trace_id }) => trace_id);
  const chunks = Array.from({ length: Math.ceil(ids.length / CHUNK) }, (_, i) => ids.slice(i * CHUNK, (i + 1) * CHUNK));
  return useQueries({
    queries: chunks.map((chunk) => ({
      queryKey: ["traces", "first-tokens", project, chunk],
      enabled: enabled && project !== undefined,
      queryFn: ({ signal }: { signal: AbortSignal }) => readFirstTokens(project ?? "", chunk, signal),
      staleTime: 60_000,
    })),
    combine: joinResponses,
  });
}

const joinResponses = (responses: { data?: FirstTokens | undefined }[]) =>
  new Map(responses.flatMap(({ data = [] }) => data));

/** The earliest runs come first. A trace that is in an answer is left out of the next request, so many runs of one hide no other. */
async function readFirstTokens(project: string, traces: string[], signal: AbortSignal): Promise<FirstTokens> {
  const first = new Map<string, string>();
  let left = traces;
  while (left.length > 0) {
    const query = {
      session: [project],
      filter: `and(in(trace_id, ${JSON.stringify(left)}), neq(first_token_time, null))`,
      select: ["trace_id", "first_token_time"],
      limit: PAGE,
      order: "asc",
    };
    const { runs } = await call<{ runs: TraceRow[] }>("POST", "/api/v1/runs/query", query, signal);
    for (const { trace_id, first_token_time: at } of runs) {
      const known = first.get(trace_id);
      if (at && (known === undefined || Date.parse(at) < Date.parse(known))) first.set(trace_id, at);
    }
    if (runs.length < PAGE) break;
    const seen = new Set(runs.map(({ trace_id }) => trace_id));
    left = left.filter((id) => !seen.has(id));
  }
  return [...first];
}

/** What the list of traces counts over its range: the course of the runs, and the values of a facet. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { call } from "../api/http.ts";
import type { Range } from "../page/range.ts";
import { type Facet, withoutFacet } from "./facets.ts";
import { selectRuns } from "./request.ts";
import type { TraceRow, Wanted } from "./types.ts";

export interface Figures {
  run_count: number;
  error_count: number;
  pending_count: number;
}

export interface Course {
  total: Figures;
  buckets: (Figures & { start_time: string })[];
  /** The names of the runs; undefined where they were not counted. */
  groups?: Value[] | undefined;
}

/** A value of a facet, and how many runs have it. */
interface Value {
  key: string;
  count: number | undefined;
}

interface Answer extends Omit<Course, "groups"> {
  groups: ({ key: string } & Figures)[] | null;
}

const valuesIn = ({ groups }: Answer): Value[] =>
  (groups ?? []).flatMap(({ key, run_count }) => (key === "" || key === "null" ? [] : [{ key, count: run_count }]));

const GROUPS = 20;
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
      const answer = await call<Answer>("POST", "/api/v1/runs/stats/series", query, signal);
      return { ...answer, groups: answer.groups === null ? undefined : valuesIn(answer) };
    },
    placeholderData: keepPreviousData,
  });
}

/** The values of a property, with how many runs have each. Models are of the runs below the roots. */
export function useGroups(wanted: Wanted, range: Range, by: Facet & ("name" | "model" | "tag"), enabled = true) {
  const facets = withoutFacet(wanted.facets, by);
  const counted: Wanted =
    by === "model" ? { ...wanted, all: true, failed: false, filter: "", words: "", facets: {} } : { ...wanted, facets };
  return useQuery({
    queryKey: ["traces", "groups", by, counted, range.key],
    enabled: enabled && wanted.project !== undefined,
    queryFn: async ({ signal }) => {
      const query = { ...selectRuns(counted, range), interval: "day", by, max_groups: GROUPS };
      const values = valuesIn(await call<Answer>("POST", "/api/v1/runs/stats/series", query, signal));
      // Of a model, calls are counted, and the list has traces.
      return by === "model" ? values.map(({ key }) => ({ key, count: undefined })) : values;
    },
    placeholderData: keepPreviousData,
  });
}

const PAGE = 100;
/** 100 runs each. A trace that is not reached has no time. */
const PAGES = 5;

/** When the first token of each of these traces came: a root calls no model itself. */
export function useFirstTokens(project: string | undefined, rows: TraceRow[], enabled: boolean) {
  const ids = rows.filter(({ end_time }) => end_time !== null).map(({ trace_id }) => trace_id);
  return useQuery({
    queryKey: ["traces", "first-tokens", project, ids],
    enabled: enabled && project !== undefined && ids.length > 0,
    queryFn: async ({ signal }) => {
      const first = new Map<string, string>();
      let cursor: string | undefined;
      for (let page = 0; page < PAGES; page++) {
        const query = {
          session: [project],
          filter: `and(in(trace_id, ${JSON.stringify(ids)}), neq(first_token_time, null))`,
          select: ["trace_id", "first_token_time"],
          limit: PAGE,
          cursor,
        };
        const found = await call<{ runs: TraceRow[]; cursors: { next: string | null } }>(
          "POST",
          "/api/v1/runs/query",
          query,
          signal,
        );
        for (const { trace_id, first_token_time: at } of found.runs) {
          const known = first.get(trace_id);
          if (at && (known === undefined || Date.parse(at) < Date.parse(known))) first.set(trace_id, at);
        }
        if (found.cursors.next === null) break;
        cursor = found.cursors.next;
      }
      return first;
    },
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

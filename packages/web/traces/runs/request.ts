/** The request of the list of traces, from the address alone: it is sent while the code of the list loads. */
import type { Request } from "../../api/http.ts";
import type { Range } from "../../resources/presets.ts";
import { readFacets, writeConditions } from "./facets.ts";
import type { Sort } from "../../ui/Table.tsx";
import type { Wanted } from "../types.ts";

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

export const NEWEST: Sort = { id: "start", order: "desc" };

/** The columns that sort the list, as the server names them. */
const SORTED: Record<string, string> = {
  start: "start_time",
  latency: "latency",
  tokens: "total_tokens",
  cost: "total_cost",
};

/** How the address sorts the list: `?sort=cost`, `?sort=-cost` with the greatest first. */
export function readSort(params: URLSearchParams): Sort {
  const [, minus, id = ""] = /^(-?)(\w+)$/.exec(params.get("sort") ?? "") ?? [];
  return Object.hasOwn(SORTED, id) ? { id, order: minus === "-" ? "desc" : "asc" } : NEWEST;
}

/** Which traces the address lists. */
export const readWanted = (params: URLSearchParams, project: string | undefined): Wanted => ({
  project,
  failed: params.get("failed") === "1",
  all: params.get("all") === "1",
  filter: params.get("filter") ?? "",
  words: params.get("q") ?? "",
  facets: readFacets(params),
});

/** The conditions of the list, for all of its queries. */
export function selectRuns({ project, failed, all, filter, words, facets }: Wanted, range: Range) {
  return {
    session: [project],
    start_time: new Date(range.from).toISOString(),
    ...(range.to === undefined ? {} : { end_time: new Date(range.to).toISOString() }),
    ...(all ? {} : { is_root: true }),
    ...(failed ? { error: true } : {}),
    ...(words === "" ? {} : { query: words }),
    ...writeConditions(facets, filter),
  };
}

export const listKey = (wanted: Wanted, range: Range, sort: Sort) => ["traces", "list", wanted, range.key, sort];

export const listRequest = (wanted: Wanted, range: Range, { id, order }: Sort, cursor?: string): Request => [
  "POST",
  "/api/v1/runs/query",
  { ...selectRuns(wanted, range), limit: PAGE, select: LIGHT, cursor, sort_by: SORTED[id], order },
];

/** The requests of the list of traces and of one trace, from the address alone: they are sent while the code of the view loads. */
import type { Read } from "../api/requests.ts";
import type { Range } from "../resources/range.ts";
import { readFacets, writeConditions } from "./runs/facets.ts";
import type { Sort } from "../ui/Table.tsx";
import type { Wanted } from "./types.ts";

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

export const listRead = (wanted: Wanted, range: Range, sort: Sort, cursor?: string) =>
  ({
    key: ["traces", "list", wanted, range.key, sort],
    request: [
      "POST",
      "/api/v1/runs/query",
      { ...selectRuns(wanted, range), limit: PAGE, select: LIGHT, cursor, sort_by: SORTED[sort.id], order: sort.order },
    ],
  }) satisfies Read;

const OF_TREE =
  "name,run_type,status,start_time,latency_seconds,parent_run_ids,first_token_time,total_tokens,total_cost";

/** The runs of a trace that are requested before the others: more than a screen has rows. */
export const FIRST_RUNS = 100;

/**
 * The runs of a trace, each after its parent; `first`: only the first ones. Without a project, the server looks for the
 * trace in all of them, and each run has the project's id: in a trace of 2,000 runs, a sixth of the answer.
 */
export function traceRead(traceId: string, project: string | null, first: boolean) {
  const which: Record<string, string> =
    project === null ? { selects: `${OF_TREE},project_id` } : { selects: OF_TREE, project_id: project };
  if (first) which.page_size = String(FIRST_RUNS);
  return {
    key: ["trace", traceId, project],
    request: ["GET", `/api/v2/traces/${traceId}/runs?${new URLSearchParams(which)}`],
  } satisfies Read;
}

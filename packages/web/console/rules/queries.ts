/** Reads and changes of the views of rules. */
import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import type { Backfill, Failure, NamedRun, Rule, Score, WaitingRun } from "./types.ts";
import { defineQueries } from "../../resources/queries.ts";

const ALL = ["rules"];
const PATH = "/api/v1/runs/rules";
/** Milliseconds. The work begins once a minute. */
const AGAIN = 5_000;
/** A workspace has at most as many. */
const MOST = 100;
/** Failures and scores that a page shows. */
export const SHOWN = 50;
const OLDEST_MS = 400 * 86_400_000;

const { reload, useItem, remove } = defineQueries<Rule>("rules", PATH, AGAIN);

export { useItem as useRule, remove as deleteRule };

/** The newest first. */
export function useRules() {
  return useQuery({
    queryKey: [...ALL, "list"],
    queryFn: async ({ signal }) => (await call<Rule[]>("GET", `${PATH}?limit=${MOST}`, undefined, signal)).toReversed(),
    refetchInterval: AGAIN,
  });
}

const readFailures = (id: string, limit: number, signal: AbortSignal) =>
  call<Failure[]>("GET", `${PATH}/${id}/logs?limit=${limit}`, undefined, signal);

/** A rule without runs that failed or wait has no failure. */
const mayHaveFailed = ({ stats }: Rule) => stats.failed > 0 || stats.waiting > 0;

/** The newest failure of each rule, by its id. */
export function useLastFailures(rules: Rule[]): Map<string, Failure> {
  return useQueries({
    queries: rules.filter(mayHaveFailed).map(({ id, stats: { failed, waiting } }) => ({
      queryKey: [...ALL, "last", id, failed, waiting],
      queryFn: async ({ signal }: { signal: AbortSignal }) => ({ id, last: (await readFailures(id, 1, signal))[0] }),
      placeholderData: keepPreviousData,
    })),
    combine: (results) => new Map(results.flatMap(({ data }) => (data?.last ? [[data.id, data.last] as const] : []))),
  });
}

/** Newest first. Read again when the counts of the rule change. */
export function useFailures({ id, stats: { done, failed, waiting } }: Rule) {
  return useQuery({
    queryKey: [...ALL, "log", id, done, failed, waiting],
    queryFn: ({ signal }) => readFailures(id, SHOWN, signal),
    placeholderData: keepPreviousData,
  });
}

/** Those due first. Read again when the counts of the rule change. */
export function useWaiting({ id, stats: { taken, done, failed, waiting } }: Rule) {
  return useQuery({
    queryKey: [...ALL, "waiting", id, taken, done, failed],
    queryFn: ({ signal }) =>
      call<WaitingRun[]>("GET", `${PATH}/${id}/logs?status=pending&limit=${SHOWN}`, undefined, signal),
    enabled: waiting > 0,
    placeholderData: keepPreviousData,
  });
}

/** The scores of the rule among the last 100 that rules gave in its project, newest first. */
export function useScores({ id, session_id, stats: { done } }: Rule) {
  return useQuery({
    queryKey: [...ALL, "scores", id, done],
    queryFn: async ({ signal }) => {
      const query = new URLSearchParams({ session: session_id, source: "auto_eval", limit: "100" });
      const given = await call<Score[]>("GET", `/api/v1/feedback?${query}`, undefined, signal);
      return given.filter(({ feedback_source }) => feedback_source?.metadata?.rule_id === id).slice(0, SHOWN);
    },
    placeholderData: keepPreviousData,
  });
}

/** The runs with these ids, by id: their names, and the traces that they are of. */
export function useNamedRuns(project: string, ids: string[]) {
  return useQuery({
    queryKey: [...ALL, "runs", project, ids.join()],
    enabled: ids.length > 0,
    queryFn: async ({ signal }) => {
      // A backfill may have taken a run of any age. Without a time, only the last days are searched.
      const start_time = new Date(Date.now() - OLDEST_MS).toISOString();
      const body = { session: [project], id: ids, limit: SHOWN, start_time, select: ["name", "trace_id"] };
      const { runs } = await call<{ runs: NamedRun[] }>("POST", "/api/v1/runs/query", body, signal);
      return new Map(runs.map((run) => [run.id, run]));
    },
    staleTime: Infinity,
    placeholderData: keepPreviousData,
  });
}

export function useBackfills(id: string) {
  return useQuery({
    queryKey: [...ALL, "backfills", id],
    queryFn: ({ signal }) => call<Backfill[]>("GET", `${PATH}/${id}/backfills`, undefined, signal),
    refetchInterval: ({ state }) => (state.data?.some(({ status }) => status === "running") ? AGAIN : false),
  });
}

export async function saveRule(id: string | undefined, body: object): Promise<Rule> {
  const saved = await (id === undefined ? call<Rule>("POST", PATH, body) : call<Rule>("PATCH", `${PATH}/${id}`, body));
  await reload();
  return saved;
}

/** Times as ISO texts. */
export async function startBackfill(id: string, start_time: string, end_time: string): Promise<void> {
  await call("POST", `${PATH}/${id}/backfills`, { start_time, end_time });
  await reload();
}

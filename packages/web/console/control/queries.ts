/** Reads and changes of the view of control. */
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { useProjects, queryClient } from "../../api/queries.ts";
import type { Budget, BudgetUse, Check, DiedRun, Rule, RuleUse, WaitingRun } from "./types.ts";

const FLOW = ["flow"];
const BUDGETS = ["budgets"];
const DIED = ["died-runs"];
/** Milliseconds between two readings of what is in use. */
const AGAIN = 4_000;
/** The most keys and runs of one list. */
export const MOST = 200;

/** `enabled`: false for callers who may not read rules. */
export function useRules(enabled = true) {
  return useQuery({
    queryKey: [...FLOW, "rules"],
    enabled,
    queryFn: async ({ signal }) =>
      (await call<{ rules: Rule[] }>("GET", "/api/v1/flow/rules", undefined, signal)).rules,
  });
}

export function useRuleUses() {
  return useQuery({
    queryKey: [...FLOW, "use"],
    queryFn: async ({ signal }) =>
      (await call<{ uses: RuleUse[] }>("GET", `/api/v1/flow/use?limit=${MOST}`, undefined, signal)).uses,
    refetchInterval: AGAIN,
  });
}

export function useWaiting() {
  return useQuery({
    queryKey: [...FLOW, "waiting"],
    queryFn: async ({ signal }) =>
      (await call<{ runs: WaitingRun[] }>("GET", `/api/v1/flow/waiting?limit=${MOST}`, undefined, signal)).runs,
    refetchInterval: AGAIN,
  });
}

export async function putRule(id: string, rule: object): Promise<void> {
  await call("PUT", `/api/v1/flow/rules/${encodeURIComponent(id)}`, rule);
  await queryClient.invalidateQueries({ queryKey: FLOW });
}

export async function deleteRules(ids: string[]): Promise<void> {
  for (const id of ids) await call("DELETE", `/api/v1/flow/rules/${encodeURIComponent(id)}`);
  await queryClient.invalidateQueries({ queryKey: FLOW });
}

export function useBudgets() {
  return useQuery({
    queryKey: [...BUDGETS, "list"],
    queryFn: async ({ signal }) =>
      (await call<{ budgets: Budget[] }>("GET", "/api/v1/budgets", undefined, signal)).budgets,
  });
}

export function useBudgetUses() {
  return useQuery({
    queryKey: [...BUDGETS, "use"],
    queryFn: async ({ signal }) =>
      (await call<{ uses: BudgetUse[] }>("GET", `/api/v1/budgets/use?limit=${MOST}`, undefined, signal)).uses,
    refetchInterval: AGAIN,
  });
}

export async function putBudget(id: string, budget: object): Promise<void> {
  await call("PUT", `/api/v1/budgets/${encodeURIComponent(id)}`, budget);
  await queryClient.invalidateQueries({ queryKey: BUDGETS });
}

export async function deleteBudget(id: string): Promise<void> {
  await call("DELETE", `/api/v1/budgets/${encodeURIComponent(id)}`);
  await queryClient.invalidateQueries({ queryKey: BUDGETS });
}

/** How many prices come from where. */
export function usePriceSources() {
  return useQuery({
    queryKey: ["price-sources"],
    queryFn: async ({ signal }) => {
      const { prices } = await call<{ prices: { source: string }[] }>("GET", "/api/v1/prices", undefined, signal);
      const count = (source: string) => prices.filter((price) => price.source === source).length;
      return { workspace: count("workspace"), deployment: count("deployment"), list: count("list") };
    },
    staleTime: 60_000,
  });
}

/** Days for which the list of crashed runs looks back. */
export const DIED_DAYS = 7;

/** Runs that the server gave up because their process stopped too often, of the last days. */
export function useDiedRuns() {
  const projects = useProjects();
  const session = projects.data?.map(({ id }) => id) ?? [];
  return useQuery({
    queryKey: [...DIED, session.join()],
    enabled: projects.data !== undefined,
    queryFn: async ({ signal }) => {
      if (session.length === 0) return [];
      const body = {
        session,
        is_root: true,
        limit: 50,
        filter: 'and(eq(status, "error"), search("RunAttemptsExceeded"))',
        select: ["id", "trace_id", "thread_id", "name", "error", "end_time", "extra"],
        start_time: new Date(Date.now() - DIED_DAYS * 86_400_000).toISOString(),
      };
      const { runs } = await call<{ runs: DiedRun[] }>("POST", "/api/v1/runs/query", body, signal);
      return runs.filter(({ error }) => error?.startsWith("RunAttemptsExceeded"));
    },
    refetchInterval: 15_000,
  });
}

/** Continues a thread from its last checkpoint. It runs on the deployed version. */
export async function resumeThread(thread: string, assistant: string): Promise<void> {
  await call("POST", `/threads/${encodeURIComponent(thread)}/runs`, { assistant_id: assistant, input: null });
  await Promise.all([
    queryClient.invalidateQueries({ queryKey: DIED }),
    queryClient.invalidateQueries({ queryKey: ["threads-by-id"] }),
  ]);
}

/** Pages of threads that one check reads at most, and threads of a page. */
const CHECK = { pages: 10, threads: 200 };
export const CHECKED_MOST = CHECK.pages * CHECK.threads;

/** Compares the threads that wait with the deployed graphs, page by page. */
export async function checkThreads(): Promise<Check> {
  const all: Check = { counts: {}, threads: [], complete: true };
  let after: string | null = null;
  for (let read = 0; read < CHECK.pages; read += 1) {
    const body: object = { limit: CHECK.threads, ...(after !== null && { after }) };
    const page: Check & { next: string | null } = await call("POST", "/graphs/check", body);
    for (const [graph, count] of Object.entries(page.counts)) {
      const sum = (all.counts[graph] ??= { checked: 0, cannot_continue: 0, migrated: 0, unknown: 0 });
      for (const name of ["checked", "cannot_continue", "migrated", "unknown"] as const) sum[name] += count[name];
    }
    all.threads.push(...page.threads);
    after = page.next;
    if (after === null) return all;
  }
  return { ...all, complete: false };
}

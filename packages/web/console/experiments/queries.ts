/** Reads of the views of experiments. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import type { Permission } from "../../../../src/http/principal.ts";
import type { Resource } from "../../resources/ListPage.tsx";

export const RESOURCE: Resource = {
  path: "/console/experiments",
  name: "Experiments",
  one: "experiment",
  permission: "datasets.write",
};

export interface Dataset {
  id: string;
  name: string;
  example_count?: number | null;
}

export interface Experiment {
  id: string;
  name: string;
  start_time: string;
  reference_dataset_id: string;
  run_count?: number | null;
  error_rate?: number | null;
  latency_p50?: number | null;
  total_cost?: string | null;
  feedback_stats?: Record<string, { n: number; avg?: number | null }> | null;
}

/** The datasets, and their experiments with statistics. */
export function useExperiments() {
  return useQuery({
    queryKey: ["experiments"],
    queryFn: async ({ signal }) => {
      const datasets = await call<Dataset[]>("GET", "/api/v1/datasets?limit=100", undefined, signal);
      if (datasets.length === 0) return { datasets, experiments: [] };
      const query = new URLSearchParams({ include_stats: "true", limit: "100" });
      for (const { id } of datasets) query.append("reference_dataset", id);
      return { datasets, experiments: await call<Experiment[]>("GET", `/api/v1/sessions?${query}`, undefined, signal) };
    },
  });
}

export interface Result {
  experiment_id: string;
  scores: Record<string, number>;
  improved: string[];
  regressed: string[];
  newly_failed: boolean;
  runs: {
    id: string;
    trace_id: string;
    status: string;
    outputs: unknown;
    error?: string | null;
    latency: number | null;
  }[];
}

export interface ComparedRow {
  example_id: string;
  example: { inputs: unknown; outputs: unknown } | null;
  results: Result[];
}

export interface Comparison {
  experiments: {
    id: string;
    name: string;
    run_count: number;
    error_count: number;
    latency_p50: number | null;
    total_tokens: number;
    total_cost: number;
    scores: Record<string, number>;
    improved: Record<string, number>;
    regressed: Record<string, number>;
    newly_failed: number;
  }[];
  total: number;
  rows: ComparedRow[];
}

export const PAGE = 20;

export function useComparison(dataset: string, ids: string[], change: string, offset: number) {
  const query = new URLSearchParams({ limit: String(PAGE), offset: String(offset), sort: "change" });
  for (const id of ids) query.append("experiment", id);
  if (change !== "") query.set("change", change);
  return useQuery({
    queryKey: ["compare", dataset, query.toString()],
    enabled: ids.length > 0,
    queryFn: ({ signal }) => call<Comparison>("GET", `/api/v1/datasets/${dataset}/compare?${query}`, undefined, signal),
    placeholderData: keepPreviousData,
  });
}

export function useSplits(dataset: string) {
  return useQuery({
    queryKey: ["datasets", "splits", dataset],
    enabled: dataset !== "",
    queryFn: ({ signal }) => call<string[]>("GET", `/api/v1/datasets/${dataset}/splits`, undefined, signal),
  });
}

/** Permissions that an experiment requires: it reads examples, makes a project, runs an assistant and scores. */
export const EXPERIMENT_NEEDS = [
  "datasets.read",
  "traces.write",
  "runs.create",
  "traces.annotate",
] as const satisfies Permission[];

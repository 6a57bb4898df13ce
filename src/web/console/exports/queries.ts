/** Export jobs, their runs (one for each project and day), and destinations. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";

export type Status = "CREATED" | "RUNNING" | "COMPLETED" | "FAILED" | "CANCELLED" | "TIMEDOUT";

export interface Job {
  id: string;
  bulk_export_destination_id: string;
  /** Null: all experiments. */
  session_id: string | null;
  start_time: string;
  /** Null: a schedule. */
  end_time: string | null;
  filter: string | null;
  compression: string;
  /** Set: a schedule. */
  interval_hours: number | null;
  export_fields: string[] | null;
  status: Status;
  error: string | null;
  /** The schedule that made it. */
  source_bulk_export_id: string | null;
  created_at: string;
  finished_at: string | null;
  progress: {
    rows_written: number;
    bytes_written: number;
    files_written: number;
    runs_total: number;
    runs_completed: number;
    fraction: number;
  };
  late_runs: number | null;
}

export interface Run {
  id: string;
  bulk_export_id: string;
  session_id: string;
  /** It has what came late for a day of an earlier export. */
  late: boolean;
  status: Status;
  retry_number: number;
  /** What went wrong, by attempt. */
  errors: Record<string, string> | null;
  start_time: string;
  end_time: string;
  metadata: {
    prefix: string;
    result: { rows_written: number; bytes_written: number; exported_files: string[] } | null;
  };
  updated_at: string;
  finished_at: string | null;
}

export interface Destination {
  id: string;
  destination_type: "s3" | "r2";
  display_name: string;
  config: {
    bucket_name: string;
    prefix: string;
    region: string | null;
    endpoint_url: string | null;
    include_bucket_in_prefix: boolean;
    config_kwargs_s3: { addressing_style?: string | null } | null;
  };
  /** The names of the credentials that are set. */
  credentials_keys: string[];
  created_at: string;
  updated_at: string;
}

const PATH = "/api/v1/bulk-exports";
const PAGE = 50;
const RUNS_PAGE = 1_000;
/** Milliseconds between two readings while an export is under way. */
const SOON = 2_000;

export const isOpen = ({ status }: Pick<Job, "status">) => status === "CREATED" || status === "RUNNING";

/** It changes by itself: a schedule does not. */
const moves = (job: Job) => job.interval_hours === null && isOpen(job);

/** Exports and schedules, newest first. */
export function useJobs() {
  return useInfiniteQuery({
    queryKey: ["exports", "jobs"],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      call<Job[]>("GET", `${PATH}?limit=${PAGE}&offset=${pageParam}`, undefined, signal),
    getNextPageParam: (last, pages) => (last.length < PAGE ? undefined : pages.length * PAGE),
    select: ({ pages }) => pages.flat(),
    refetchInterval: ({ state }) => (state.data?.pages.flat().some(moves) ? SOON * 2 : false),
  });
}

export function useJob(id: string) {
  return useQuery({
    queryKey: ["exports", "job", id],
    queryFn: ({ signal }) => call<Job>("GET", `${PATH}/${id}`, undefined, signal),
    refetchInterval: ({ state }) => (state.data && moves(state.data) ? SOON : false),
  });
}

/** The runs of an export by day; of a schedule, those of all exports that it made. */
export function useRuns(job: Job) {
  const path =
    job.interval_hours === null ? `${PATH}/${job.id}/runs?` : `${PATH}/runs?source_bulk_export_id=${job.id}&`;
  return useInfiniteQuery({
    queryKey: ["exports", "runs", job.id, job.status],
    initialPageParam: 0,
    queryFn: ({ pageParam, signal }) =>
      call<Run[]>("GET", `${path}limit=${RUNS_PAGE}&offset=${pageParam}`, undefined, signal),
    getNextPageParam: (last, pages) => (last.length < RUNS_PAGE ? undefined : pages.length * RUNS_PAGE),
    select: ({ pages }) => pages.flat(),
    refetchInterval: moves(job) ? SOON : false,
    placeholderData: (before) => before,
  });
}

export function useDestinations() {
  return useQuery({
    queryKey: ["exports", "destinations"],
    queryFn: ({ signal }) => call<Destination[]>("GET", `${PATH}/destinations`, undefined, signal),
  });
}

const again = () => queryClient.invalidateQueries({ queryKey: ["exports"] });

async function done<T>(answer: Promise<T>): Promise<T> {
  const result = await answer;
  await again();
  return result;
}

export const createJob = (body: object) => done(call<Job>("POST", PATH, body));
export const cancelJob = (id: string) => done(call<Job>("PATCH", `${PATH}/${id}`, { status: "CANCELLED" }));
export const createDestination = (body: object) => done(call<Destination>("POST", `${PATH}/destinations`, body));
export const deleteDestination = (id: string) => done(call<void>("DELETE", `${PATH}/destinations/${id}`));
export const checkDestination = (id: string) =>
  call<{ checked_at: string }>("POST", `${PATH}/destinations/${id}/check`, {});
export const changeCredentials = (id: string, credentials: object) =>
  done(call<Destination>("PATCH", `${PATH}/destinations/${id}`, { credentials }));

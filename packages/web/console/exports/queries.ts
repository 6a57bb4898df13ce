/** Export jobs, their runs (one for each project and day), and destinations. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import { type Destination, isOpen, type Job, type Run } from "./types.ts";

const PATH = "/api/v1/bulk-exports";
const PAGE = 50;
const RUNS_PAGE = 1_000;
/** Milliseconds between two readings while an export is under way. */
const SOON = 2_000;

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

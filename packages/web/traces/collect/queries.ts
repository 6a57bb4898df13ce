/** Datasets and annotation queues as places to add runs to. */
import { useQuery } from "@tanstack/react-query";
import type { Permission } from "../../../../src/http/principal.ts";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";

/** A run that is added. */
export interface Collected {
  id: string;
  /** Its project. */
  project: string;
  start_time: string;
  /** What the dialog shows of it, where there are several. */
  name: string;
  preview?: string | null;
}

export interface Place {
  id: string;
  name: string;
}

export type PlaceKind = "dataset" | "queue";

/** What the server requires for adding to a place, and for a new one. */
export const PLACE_NEEDS = { dataset: "datasets.write", queue: "queues.write" } as const satisfies Record<
  PlaceKind,
  Permission
>;

const PATHS: Record<PlaceKind, string> = { dataset: "/api/v1/datasets", queue: "/api/v1/annotation-queues" };

/** The datasets or the queues, the newest first. */
export function usePlaces(kind: PlaceKind, enabled = true) {
  return useQuery({
    queryKey: [`${kind}s`, "places"],
    enabled,
    queryFn: ({ signal }) => call<Place[]>("GET", `${PATHS[kind]}?limit=100`, undefined, signal),
  });
}

export async function createPlace(kind: PlaceKind, name: string): Promise<Place> {
  const made = await call<Place>("POST", PATHS[kind], { name });
  await queryClient.invalidateQueries({ queryKey: [`${kind}s`] });
  return made;
}

export interface NewExample {
  inputs: Record<string, unknown>;
  outputs?: Record<string, unknown>;
  split?: string;
  source_run_id?: string;
}

export async function createExample(dataset: string, example: NewExample): Promise<void> {
  await call("POST", "/api/v1/examples", { dataset_id: dataset, ...example });
  await queryClient.invalidateQueries({ queryKey: ["datasets"] });
}

/** The most examples of a request that take over from runs, and the most runs of one that fills a queue. */
const AT_ONCE: Record<PlaceKind, number> = { dataset: 100, queue: 1_000 };

/** Adds runs with what they were given and what they gave. */
export async function addRuns(kind: PlaceKind, place: string, runs: Collected[], split?: string): Promise<void> {
  for (let at = 0; at < runs.length; at += AT_ONCE[kind]) {
    const some = runs.slice(at, at + AT_ONCE[kind]);
    if (kind === "dataset") await call("POST", "/api/v1/examples/bulk", some.map(takenOver(place, split)));
    else await call("POST", `${PATHS.queue}/${place}/runs`, some.map(queued));
  }
  await queryClient.invalidateQueries({ queryKey: [`${kind}s`] });
}

const takenOver =
  (dataset: string, split: string | undefined) =>
  ({ id }: Collected) => ({ dataset_id: dataset, source_run_id: id, use_source_run_io: true, split });

const queued = ({ id, project, start_time }: Collected) => ({ run_id: id, session_id: project, start_time });

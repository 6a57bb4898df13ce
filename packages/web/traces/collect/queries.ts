/** Datasets and annotation queues as places to add runs to. */
import { useQuery } from "@tanstack/react-query";
import type { Permission } from "../../../../src/http/principal.ts";
import { call } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import { isMembers } from "../../../../src/agents/evaluation/evaluators.ts";

/** A run that is added. */
export interface Collected {
  id: string;
  /** Its project. */
  project: string;
  start_time: string;
  /** In the dialog, where there are several. */
  name: string;
  preview?: string | null;
}

export interface Target {
  id: string;
  name: string;
}

export type TargetKind = "dataset" | "queue";

/** Permissions for adding to a target, and for a new one. */
export const TARGET_PERMISSIONS = { dataset: "datasets.write", queue: "queues.write" } as const satisfies Record<
  TargetKind,
  Permission
>;

const PATHS: Record<TargetKind, string> = { dataset: "/api/v1/datasets", queue: "/api/v1/annotation-queues" };

/** The datasets or the queues, the newest first. */
export function useTargets(kind: TargetKind, enabled = true) {
  return useQuery({
    queryKey: [`${kind}s`, "places"],
    enabled,
    queryFn: ({ signal }) => call<Target[]>("GET", `${PATHS[kind]}?limit=100`, undefined, signal),
  });
}

export async function createTarget(kind: TargetKind, name: string): Promise<Target> {
  const made = await call<Target>("POST", PATHS[kind], { name });
  await queryClient.invalidateQueries({ queryKey: [`${kind}s`] });
  return made;
}

interface NewExample {
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
const AT_ONCE: Record<TargetKind, number> = { dataset: 100, queue: 1_000 };

/** Adds runs with what they were given and what they gave. */
export async function addRuns(kind: TargetKind, target: string, runs: Collected[], split?: string): Promise<void> {
  for (let at = 0; at < runs.length; at += AT_ONCE[kind]) {
    const some = runs.slice(at, at + AT_ONCE[kind]);
    if (kind === "dataset") await call("POST", "/api/v1/examples/bulk", some.map(takenOver(target, split)));
    else await call("POST", `${PATHS.queue}/${target}/runs`, some.map(queued));
  }
  await queryClient.invalidateQueries({ queryKey: [`${kind}s`] });
}

const takenOver =
  (dataset: string, split: string | undefined) =>
  ({ id }: Collected) => ({ dataset_id: dataset, source_run_id: id, use_source_run_io: true, split });

const queued = ({ id, project, start_time }: Collected) => ({ run_id: id, session_id: project, start_time });

// The expected output of an example: the text of an answer where the output is a conversation, else JSON.

type Members = Record<string, unknown>;

/** Bodies of examples are objects. Another value becomes a member, as in the SDKs. */
export const asMembers = (value: unknown, name: string): Members => (isMembers(value) ? value : { [name]: value });

/** The output of an example whose answer should be this text. */
export const answering = (text: string): Members => ({ messages: [{ role: "assistant", content: text }] });

/** The JSON object of a text, or its error. An empty text is no object. */
export function membersFrom(text: string): { value?: Members; error?: string } {
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    return isMembers(value) ? { value } : { error: "Expected a JSON object." };
  } catch (error) {
    return { error: error instanceof Error ? error.message : "Not JSON." };
  }
}

/** Reads and changes of the views of annotation queues. */
import { useQuery } from "@tanstack/react-query";
import { ApiError, call, none } from "../../api/http.ts";
import { queryClient } from "../../api/queries.ts";
import type { Config, RubricItem } from "./rubric.ts";
import type { Resource } from "../../resources/ListPage.tsx";
import type { Queue as WireQueue, QueueWithRubric } from "../../../../src/traces/review/queues/wire.ts";
import type { Feedback } from "../../traces/feedback/queries.ts";
import { defineQueries } from "../../resources/queries.ts";

export const RESOURCE: Resource = {
  path: "/console/queues",
  name: "Annotation queues",
  one: "queue",
  permission: "queues.write",
};

export type QueueRow = WireQueue & { total_runs?: number };

export type Queue = QueueRow & Pick<QueueWithRubric, "rubric_instructions"> & { rubric_items: RubricItem[] };

/** A run in a queue. */
export interface QueuedRun {
  id: string;
  trace_id: string;
  session_id: string;
  name: string;
  start_time: string;
  inputs: unknown;
  outputs: unknown;
  error: string | null;
  queue_run_id: string;
  completed_by: string[];
  reserved_by: string[];
}

export type { Feedback };

const ALL = ["queues"];
const PATH = "/api/v1/annotation-queues";

const { reload, useItem, remove } = defineQueries<Queue>("queues", PATH);

export { useItem as useQueue, remove as deleteQueue };

export function useQueues() {
  return useQuery({
    queryKey: [...ALL, "list"],
    queryFn: ({ signal }) => call<QueueRow[]>("GET", `${PATH}?limit=100`, undefined, signal),
  });
}

const SECTIONS = ["needs_my_review", "needs_others_review", "completed"] as const;

/** How many runs wait for the caller, wait for others, and are completed. */
export function useSizes(id: string) {
  return useQuery({
    queryKey: [...ALL, "sizes", id],
    queryFn: async ({ signal }) => {
      const sizes = SECTIONS.map((status) =>
        call<{ size: number }>("GET", `${PATH}/${id}/size?status=${status}`, undefined, signal),
      );
      const [mine = 0, others = 0, completed = 0] = (await Promise.all(sizes)).map(({ size }) => size);
      return { mine, others, completed };
    },
  });
}

/** The run that waits for the caller longest, reserved for them; null for none. */
export function useNext({ id, enable_reservations }: Queue, annotates: boolean) {
  return useQuery({
    queryKey: [...ALL, "next", id],
    queryFn: async ({ signal }) => {
      for (let at = 0; ; at++) {
        const run = await call<QueuedRun>("GET", `${PATH}/${id}/run/${at}`, undefined, signal).catch(none);
        if (!run || !enable_reservations || !annotates) return run;
        const isReserved = await review(run, "viewed").then(
          () => true,
          (error: unknown) => {
            // Another reviewer was faster: the next one.
            if (error instanceof ApiError && error.status === 409) return false;
            throw error;
          },
        );
        if (isReserved) return run;
      }
    },
    // A run under review stays in view.
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
}

const COMPLETED = 100;

/** The newest completed runs with the feedback that their reviewers gave. */
export function useCompleted(id: string) {
  return useQuery({
    queryKey: [...ALL, "completed", id],
    queryFn: async ({ signal }) => {
      const { size } = await call<{ size: number }>("GET", `${PATH}/${id}/size?status=completed`, undefined, signal);
      const query = new URLSearchParams({
        status: "completed",
        limit: String(COMPLETED),
        offset: String(Math.max(0, size - COMPLETED)),
      });
      const runs = await call<QueuedRun[]>("GET", `${PATH}/${id}/runs?${query}`, undefined, signal);
      return { runs: runs.toReversed(), given: await feedbackOn(runs, signal), size };
    },
  });
}

/** Ids that one address names. */
const IDS = 20;
const PAGE = 100;

async function feedbackOn(runs: QueuedRun[], signal: AbortSignal): Promise<Feedback[]> {
  const given: Feedback[] = [];
  for (let at = 0; at < runs.length; at += IDS) {
    const ids = runs.slice(at, at + IDS).map(({ id }) => ["run", id]);
    for (let offset = 0; ; offset += PAGE) {
      const query = new URLSearchParams([
        ...ids,
        ["source", "app"],
        ["limit", String(PAGE)],
        ["offset", String(offset)],
      ]);
      const page = await call<Feedback[]>("GET", `/api/v1/feedback?${query}`, undefined, signal);
      given.push(...page);
      if (page.length < PAGE) break;
    }
  }
  return given;
}

type Status = "viewed" | "completed" | null;

function review({ queue_run_id }: QueuedRun, status: Status, more: object = {}): Promise<void> {
  return call("POST", `${PATH}/status/${queue_run_id}`, { status, ...more });
}

/** The feedback of a reviewer for one key of the rubric. */
interface ReviewInput {
  key: string;
  score: number | null;
  value: string | null;
  comment: string | null;
}

/** Stores the caller's feedback on a run, and completes their review of it. */
export async function complete(run: QueuedRun, reviewer: string, said: ReviewInput[]): Promise<void> {
  const query = new URLSearchParams({ run: run.id, source: "app", user: reviewer, limit: String(PAGE) });
  const before = await call<Feedback[]>("GET", `/api/v1/feedback?${query}`);
  for (const { key, ...rest } of said) {
    const known = before.find((one) => one.key === key);
    if (known) await call("PATCH", `/api/v1/feedback/${known.id}`, rest);
    else
      await call("POST", "/api/v1/feedback", {
        key,
        ...rest,
        run_id: run.id,
        trace_id: run.trace_id,
        session_id: run.session_id,
        start_time: run.start_time,
        feedback_source: { type: "app", user_id: reviewer },
      });
  }
  await review(run, "completed");
  await Promise.all([reload(), queryClient.invalidateQueries({ queryKey: ["feedback"] })]);
}

/** Moves a run to the end of the caller's queue, and lets others have it. */
export async function skip(run: QueuedRun): Promise<void> {
  await review(run, null, { override_added_at: new Date().toISOString() });
  await reload();
}

/** The fields of the form of a queue. */
interface QueueFields {
  name: string;
  description: string;
  rubric_instructions: string;
  num_reviewers_per_item: number;
  enable_reservations: boolean;
  reservation_minutes: number;
  rubric_items: { feedback_key: string; description: string }[];
}

/** Creates a queue, or changes the one with this id. Keys without a configuration get one. */
export async function saveQueue(
  id: string | undefined,
  fields: QueueFields,
  configs: { key: string; config: Config }[],
): Promise<QueueRow> {
  for (const { key, config } of configs)
    await call("POST", "/api/v1/feedback-configs", { feedback_key: key, feedback_config: config });
  const saved = await (id === undefined
    ? call<QueueRow>("POST", PATH, fields)
    : call<QueueRow>("PATCH", `${PATH}/${id}`, fields));
  await reload();
  return saved;
}

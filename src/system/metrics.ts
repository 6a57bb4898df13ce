/** Figures of one workspace: what `GET /metrics` shows to a caller of it. */
import * as v from "valibot";
import { countAssistants } from "../agents/assistants/store.ts";
import { flowControl } from "../limits/flow/rpc.ts";
import { countFirings } from "../automation/crons/store.ts";
import { database } from "../db/client.ts";
import { countItems } from "../agents/memory/store.ts";
import { openRuns } from "../threads/api/activity.ts";
import { countByStatus } from "../threads/search/store.ts";
import { BOUNDS, type Histogram, type RunTimes } from "../traces/types.ts";
import { traceIndex } from "../traces/lookup/rpc.ts";
import { ownRunTimes } from "../traces/own-runs.ts";
import { Count } from "../http/shapes.ts";
import { projectNames, usageByDay } from "../traces/projects/store.ts";

export type Metric = v.InferOutput<typeof Metric>;
export const Metric = v.object({
  name: v.string(),
  help: v.string(),
  type: v.picklist(["gauge", "counter", "histogram"]),
  values: v.array(
    v.object({
      part: v.pipe(
        v.optional(v.picklist(["bucket", "sum", "count"])),
        v.description("What of a histogram the value is."),
      ),
      labels: v.optional(v.record(v.string(), v.string())),
      value: v.number(),
    }),
  ),
});

/** Busy threads whose runs are read; with more threads, the figures of open runs are partial. */
const THREADS = 200;

/** Keys of flow control whose figures are summed, the longest queues first. */
const FLOW_KEYS = 1_000;

/**
 * Open runs are counted in their threads, and ended runs in their traces. Everything else is counted in the index.
 * Times are seconds.
 */
export async function measure(env: Env, workspaceId: string, now: number): Promise<Metric[]> {
  const db = database(env.DB);
  const [{ runs }, threads, assistants, items, firings, ended, uses, patches] = await Promise.all([
    openRuns(env, workspaceId, THREADS),
    countByStatus(env, workspaceId),
    countAssistants(db, workspaceId, {}),
    countItems(db, workspaceId),
    countFirings(db, workspaceId),
    ownRunTimes(env, workspaceId, now),
    flowControl(env, workspaceId).uses(FLOW_KEYS),
    traceIndex(env, workspaceId).countPatches(),
  ]);
  const sums = (of: "held" | "waiting") => {
    const all: Record<string, number> = {};
    for (const { rule, [of]: count } of uses) all[rule] = (all[rule] ?? 0) + count;
    return all;
  };
  const waits = runs
    .filter(({ status }) => status === "pending")
    .map(({ created_at }) => Math.max(0, (now - Date.parse(created_at)) / 1000))
    .sort((a, b) => a - b);
  const running = runs.length - waits.length;
  return [
    gauge("lg_api_num_pending_runs", "Runs that wait for their turn.", waits.length),
    gauge("lg_api_num_running_runs", "Runs that are under way.", running),
    gauge("lg_api_pending_runs_wait_time_max", "Longest wait of a pending run.", waits.at(-1) ?? 0),
    gauge("lg_api_pending_runs_wait_time_med", "Median wait of the pending runs.", waits[waits.length >> 1] ?? 0),
    gauge("lg_api_workers_active", "Threads that run something: each has a worker of its own.", running),
    byLabel("weir_threads", "Threads by status.", "status", threads),
    gauge("weir_assistants", "Assistants.", assistants),
    gauge("weir_store_items", "Items in the Store.", items),
    byLabel("weir_cron_firings", "Due times of crons of the last week, by state.", "state", firings),
    byLabel("weir_flow_slots_held", "Slots of flow control that runs hold, by rule.", "rule", sums("held")),
    byLabel("weir_flow_runs_waiting", "Runs that wait for slots of flow control, by rule.", "rule", sums("waiting")),
    gauge("weir_trace_patches_waiting", "Patches of trace runs that wait for their posts.", patches.waiting),
    {
      name: "weir_trace_patches_dropped_total",
      help: "Patches of trace runs that were dropped: their posts did not come, or their project was deleted.",
      type: "counter",
      values: [{ value: patches.dropped }],
    },
    ...(ended ? readToday(ended) : []),
  ];
}

/** The text exposition format, version 0.0.4. */
export function prometheus(metrics: Metric[]): string {
  const lines = metrics.flatMap(({ name, help, type, values }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...values.map(({ part, labels = {}, value }) => `${name}${part ? `_${part}` : ""}${labelText(labels)} ${value}`),
  ]);
  return `${lines.join("\n")}\n`;
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, help, type: "gauge", values: [{ value }] };
}

function byLabel(name: string, help: string, label: string, counts: Record<string, number>): Metric {
  const values = Object.entries(counts).map(([key, value]) => ({ labels: { [label]: key }, value }));
  return { name, help, type: "gauge", values };
}

/** They reset at midnight UTC. Prometheus treats this as a restart. */
function readToday({ statuses, duration, firstEvent, wait }: RunTimes): Metric[] {
  const day = "Runs that began on this UTC day";
  return [
    { ...byLabel("weir_runs_total", `${day} and have ended, by status.`, "status", statuses), type: "counter" },
    histogram("weir_run_duration_seconds", `${day}: from beginning to end.`, duration),
    histogram("weir_run_first_event_seconds", `${day}: from due to the first thing the graph gave.`, firstEvent),
    histogram("weir_run_queue_seconds", `${day}: from due to beginning.`, wait),
  ];
}

function histogram(name: string, help: string, { buckets, count, sum }: Histogram): Metric {
  const bounds = [...BOUNDS.map(String), "+Inf"];
  const values: Metric["values"] = bounds.map((le, i) => ({
    part: "bucket",
    labels: { le },
    value: buckets[i] ?? count,
  }));
  return {
    name,
    help,
    type: "histogram",
    values: [...values, { part: "sum", value: sum }, { part: "count", value: count }],
  };
}

function labelText(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

// What a workspace holds: trace runs and their bytes by day and project, threads, assistants, items of the Store.

const Day = v.pipe(v.string(), v.isoDate("expected a day such as 2026-11-20"));

export const UsageQuery = v.object({ start_date: v.optional(Day), end_date: v.optional(Day) });

const DAY = 86_400_000;

const day = (millis: number) => new Date(millis).toISOString().slice(0, 10);

export const Usage = v.object({
  start_date: v.string(),
  end_date: v.string(),
  traces: v.object({
    runs: Count,
    bytes: Count,
    days: v.array(
      v.object({
        day: v.string(),
        project_id: v.string(),
        project_name: v.nullable(v.string()),
        runs: Count,
        bytes: Count,
      }),
    ),
  }),
  threads: v.pipe(v.record(v.string(), Count), v.description("How many have each status now.")),
  assistants: Count,
  store_items: Count,
});

/** Days are UTC days; both are included. The last 30 days when none are named. */
export async function usage(
  env: Env,
  workspaceId: string,
  wanted: v.InferOutput<typeof UsageQuery>,
  now: number,
): Promise<v.InferOutput<typeof Usage>> {
  const db = database(env.DB);
  const { end_date = day(now) } = wanted;
  const { start_date = day(Date.parse(end_date) - 29 * DAY) } = wanted;
  const [days, threads, assistants, items] = await Promise.all([
    usageByDay(db, workspaceId, start_date, end_date),
    countByStatus(env, workspaceId),
    countAssistants(db, workspaceId, {}),
    countItems(db, workspaceId),
  ]);
  const names = await projectNames(db, workspaceId, [...new Set(days.map(({ project_id }) => project_id))]);
  const sum = (pick: (row: (typeof days)[number]) => number) => days.reduce((total, row) => total + pick(row), 0);
  return {
    start_date,
    end_date,
    traces: {
      runs: sum(({ runs }) => runs),
      bytes: sum(({ bytes }) => bytes),
      days: days.map((row) => ({ ...row, project_name: names.get(row.project_id) ?? null })),
    },
    threads,
    assistants,
    store_items: items,
  };
}

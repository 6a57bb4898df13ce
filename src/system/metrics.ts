/** Figures of one workspace: what `GET /metrics` shows to a caller of it. */
import { countAssistants } from "../assistants/store.ts";
import { countFirings } from "../crons/store.ts";
import { database } from "../db/client.ts";
import { countItems } from "../memory/store.ts";
import { busyThreads } from "../threads/busy.ts";
import { type Run, threadStub } from "../threads/rpc.ts";
import { countByStatus } from "../threads/store.ts";

export interface Metric {
  name: string;
  help: string;
  values: { labels?: Record<string, string>; value: number }[];
}

/** Busy threads whose runs are looked at; past this the figures of open runs are of a part. */
const THREADS = 200;

/** Open runs are asked of their threads; everything else is counted in the index. Times are seconds. */
export async function measure(env: Env, workspaceId: string, now: number): Promise<Metric[]> {
  const db = database(env.DB);
  const [runs, threads, assistants, items, firings] = await Promise.all([
    openRuns(env, workspaceId),
    countByStatus(db, workspaceId),
    countAssistants(db, workspaceId, {}),
    countItems(db, workspaceId),
    countFirings(db, workspaceId),
  ]);
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
  ];
}

/** The text exposition format, version 0.0.4. */
export function prometheus(metrics: Metric[]): string {
  const lines = metrics.flatMap(({ name, help, values }) => [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    ...values.map(({ labels = {}, value }) => `${name}${labelText(labels)} ${value}`),
  ]);
  return `${lines.join("\n")}\n`;
}

async function openRuns(env: Env, workspaceId: string): Promise<Run[]> {
  const ids = (await busyThreads(env, workspaceId)).slice(0, THREADS);
  const lists = await Promise.all(ids.map((id) => runsOf(env, workspaceId, id)));
  return lists.flat().filter(({ status }) => status === "pending" || status === "running");
}

/** A thread that was deleted a moment ago has none. */
async function runsOf(env: Env, workspaceId: string, threadId: string): Promise<Run[]> {
  return threadStub(env, workspaceId, threadId)
    .listRuns({ limit: 100, offset: 0 })
    .catch(() => []);
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, help, values: [{ value }] };
}

function byLabel(name: string, help: string, label: string, counts: Record<string, number>): Metric {
  return { name, help, values: Object.entries(counts).map(([key, value]) => ({ labels: { [label]: key }, value })) };
}

function labelText(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${value}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

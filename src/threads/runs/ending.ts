/** What a run's end leaves: the thread's record, and the event that says how it ended. */
import type { Json } from "../../json.ts";
import { compactLater } from "../compaction.ts";
import type { Emitter } from "../log/emit.ts";
import type { ThreadRecord } from "../record.ts";
import type { StoredRun } from "../run.ts";
import type { RunError, RunStatus, StopReason } from "../types.ts";

/** The record after a run has ended. `busy`: other runs are open. `reason`: why the run was stopped, if it was. */
export function recordAfter(
  record: ThreadRecord,
  { status, outcome }: StoredRun,
  emitter: Emitter,
  { busy, reason }: { busy: boolean; reason?: StopReason },
): ThreadRecord {
  const now = Date.now();
  const ran = outcome.attempt > 0 && reason !== "rollback" && !outcome.refusal;
  const failed = status === "error" || status === "timeout";
  return {
    ...record,
    updated: now,
    ...(ran && {
      stateUpdated: now,
      values: emitter.values ?? record.values,
      interrupts: emitter.interrupts,
      rest: failed ? "error" : emitter.interrupted ? "interrupted" : "idle",
      error: outcome.error,
    }),
    compacted: compactLater(record, emitter.deltas, now),
    ...(record.temporary && !busy && { temporary: { until: now + 60_000 } }),
    ...(record.ttl && { ttl: { ...record.ttl, expires: now + record.ttl.ttl_minutes * 60_000 } }),
  };
}

/**
 * The body of the root `lifecycle` event. `pause`: the reason of an interruption. Clients depend on it: only an input can be
 * answered.
 */
export function endOf(
  status: RunStatus,
  graphName: string,
  pause: "input" | "breakpoint" | "cancel",
  error?: RunError,
): Json {
  const base = { graph_name: graphName };
  if (status === "success") return { event: "completed", ...base };
  if (status === "interrupted") return { event: "interrupted", ...base, reason: pause };
  return { event: "failed", ...base, error: error ? `${error.error}: ${error.message}` : status };
}

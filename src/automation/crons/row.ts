/** A cron as it is made, changed and shown. */
import type * as v from "valibot";
import { METADATA_BYTES, PAYLOAD_BYTES, withinBytes } from "../../lib/bytes.ts";
import { nextTime } from "../../db/writes.ts";
import type { FiringState } from "./table.ts";
import { readOwnPath, type StoredWebhook } from "../../deliveries/receiver.ts";
import { firingIds } from "./fire.ts";
import { nextDue } from "./schedule.ts";
import type { CreateCron, UpdateCron } from "./schema.ts";
import type { CronRow, ListedFiring } from "./store.ts";
import type { Cron, Firing } from "./wire.ts";

export { Cron, Firing } from "./wire.ts";

type CronCreation = v.InferOutput<typeof CreateCron> & Pick<StoredWebhook, "own_webhook">;
type CronChange = v.InferOutput<typeof UpdateCron> & Pick<StoredWebhook, "own_webhook">;

/**
 * A new cron; `threadId` null: each firing gets a thread of its own, which is deleted afterwards unless the cron keeps
 * it.
 */
export function createCron(
  { id, workspaceId }: Pick<CronRow, "id" | "workspaceId">,
  input: CronCreation,
  threadId: string | null,
): CronRow {
  const { assistant_id, schedule, timezone = null, end_time = null, enabled = true, metadata = {}, ...rest } = input;
  const { on_run_completed = "delete", ...run } = rest;
  const now = Date.now();
  const row = {
    id,
    workspaceId,
    assistantId: assistant_id,
    threadId,
    schedule,
    timezone,
    endTime: end_time,
    nextRunDate: null,
    enabled,
    onRunCompleted: threadId === null ? on_run_completed : null,
    payload: buildPayload({ assistant_id, ...run }),
    metadata,
    userId: null,
    user: null,
    createdAt: now,
    updatedAt: now,
  };
  return { ...row, nextRunDate: nextDue(row, now) };
}

/** The row after a change. A change of the schedule restarts the clock, so that times missed earlier do not fire. */
export function applyCronPatch(row: CronRow, change: CronChange): CronRow {
  const { schedule, timezone, end_time, metadata, enabled, on_run_completed, ...run } = change;
  const now = Date.now();
  const next: CronRow = {
    ...row,
    schedule: schedule ?? row.schedule,
    timezone: timezone === undefined ? row.timezone : timezone,
    endTime: end_time === undefined ? row.endTime : end_time,
    enabled: enabled ?? row.enabled,
    metadata: withinBytes({ ...row.metadata, ...metadata }, METADATA_BYTES, "metadata, joined with the stored one,"),
    onRunCompleted: row.threadId === null ? (on_run_completed ?? row.onRunCompleted) : null,
    payload: buildPayload({ ...row.payload, ...dropAbsent(run) }),
    updatedAt: nextTime(row.updatedAt),
  };
  const retimed = [schedule, timezone, end_time, enabled].some((value) => value !== undefined);
  return { ...next, nextRunDate: retimed ? nextDue(next, now) : row.nextRunDate };
}

export function toWireCron(row: CronRow): Cron {
  const time = (at: number) => new Date(at).toISOString();
  const iso = (at: number | null) => (at === null ? null : time(at));
  return {
    cron_id: row.id,
    assistant_id: row.assistantId,
    thread_id: row.threadId,
    on_run_completed: row.onRunCompleted,
    schedule: row.schedule,
    timezone: row.timezone,
    end_time: iso(row.endTime),
    next_run_date: row.enabled ? iso(row.nextRunDate) : null,
    enabled: row.enabled,
    user_id: row.userId,
    payload: toWirePayload(row.payload),
    metadata: row.metadata,
    created_at: time(row.createdAt),
    updated_at: time(row.updatedAt),
  };
}

function toWirePayload({ own_webhook, ...payload }: StoredWebhook & Record<string, unknown>) {
  const path = readOwnPath({ ...payload, own_webhook });
  return path === undefined ? payload : { ...payload, webhook: path };
}

/** The states of a firing on the wire. A client need not know whether the thread of a run is kept. */
const STATES = {
  due: "due",
  started: "running",
  followed: "running",
  ended: "ended",
  failed: "failed",
  refused: "refused",
} as const satisfies Record<FiringState, Firing["state"]>;

export function toWireFiring({ cronId, due, state, error, threadId }: ListedFiring): Firing {
  const ids = firingIds({ cronId, due }, threadId ?? undefined);
  const at = new Date(due).toISOString();
  return { cron_id: cronId, due: at, state: STATES[state], error, thread_id: ids.threadId, run_id: ids.runId };
}

/** The payload of a cron's runs. One D1 row holds it together with the metadata. */
function buildPayload(run: object): Record<string, unknown> {
  return withinBytes(dropAbsent(run), PAYLOAD_BYTES, "input, config, context and what else a run starts with together");
}

function dropAbsent(members: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null));
}

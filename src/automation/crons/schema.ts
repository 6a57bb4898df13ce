import * as v from "valibot";
import { maxBytes, METADATA_BYTES } from "../../lib/bytes.ts";
import { choosing, optional, paging, Uuid } from "../../http/shapes.ts";
import { JsonFilter, JsonMembers } from "../../lib/json.ts";
import { RunCreate } from "../../threads/api/schema.ts";
import { nextDue } from "./schedule.ts";

const zone = v.pipe(v.string(), v.maxLength(100), v.check(isZone, "must be an IANA time zone, such as Europe/Berlin"));
const schedule = v.pipe(
  v.string(),
  v.maxLength(200),
  v.check(isSchedule, "must be a cron expression of five fields that is due at some time"),
);
const time = v.pipe(
  v.string(),
  v.check((text) => !Number.isNaN(Date.parse(text)), "must be an ISO 8601 time"),
  v.transform((text) => Date.parse(text)),
);
/** A new cron must become due at some time. A change may end one at once. */
const future = v.pipe(
  time,
  v.check((moment) => moment > Date.now(), "must be in the future"),
);

const { assistant_id } = RunCreate.entries;

/** What each run of the cron is started with. */
const run = v.pick(RunCreate, [
  "input",
  "config",
  "context",
  "webhook",
  "interrupt_before",
  "interrupt_after",
  "stream_mode",
  "stream_subgraphs",
  "stream_resumable",
  "durability",
  "checkpoint_during",
  "multitask_strategy",
]).entries;

const own = {
  timezone: optional(zone),
  metadata: optional(v.pipe(JsonMembers, maxBytes(METADATA_BYTES))),
  enabled: optional(v.boolean()),
  on_run_completed: optional(v.picklist(["delete", "keep"])),
};

export const CreateCron = v.object({ assistant_id, schedule, ...own, ...run, end_time: optional(future) });

export const UpdateCron = v.object({
  schedule: optional(schedule),
  ...own,
  ...run,
  timezone: v.nullish(zone),
  end_time: v.nullish(time),
});

const filter = {
  assistant_id: optional(assistant_id),
  thread_id: optional(Uuid),
  metadata: optional(JsonFilter),
};

const FIELDS = [
  "cron_id",
  "assistant_id",
  "thread_id",
  "on_run_completed",
  "schedule",
  "timezone",
  "end_time",
  "next_run_date",
  "enabled",
  "user_id",
  "payload",
  "metadata",
  "created_at",
  "updated_at",
] as const;

export const SearchCrons = choosing({
  ...filter,
  enabled: optional(v.boolean()),
  ...paging,
  sort_by: optional(
    v.picklist(["cron_id", "assistant_id", "thread_id", "next_run_date", "end_time", "created_at", "updated_at"]),
  ),
  sort_order: optional(v.picklist(["asc", "desc"])),
  select: optional(v.array(v.picklist(FIELDS))),
});

/** Crons whose firings one request lists at most. */
export const MAX_CRON_IDS = 100;

export const ListFirings = choosing({
  cron_ids: v.pipe(v.array(Uuid), v.maxLength(MAX_CRON_IDS)),
  limit: optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100))),
});

export const CountCrons = choosing(filter);

export const CronPath = v.object({ cron_id: Uuid });
export const ThreadPath = v.object({ thread_id: Uuid });

function isZone(timezone: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: timezone }).resolvedOptions().timeZone.length > 0;
  } catch {
    return false;
  }
}

function isSchedule(text: string): boolean {
  try {
    return nextDue({ schedule: text, timezone: null, endTime: null }, 0) !== null;
  } catch {
    return false;
  }
}

/** Crons and their firings on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { AnyObject, Id, Time } from "../../http/shapes.ts";

export const Cron = v.pipe(
  v.object({
    cron_id: Id,
    assistant_id: v.string(),
    thread_id: v.nullable(Id),
    on_run_completed: v.nullable(v.picklist(["delete", "keep"])),
    schedule: v.string(),
    timezone: v.nullable(v.string()),
    end_time: v.nullable(Time),
    next_run_date: v.nullable(Time),
    enabled: v.boolean(),
    user_id: v.nullable(v.string()),
    payload: AnyObject,
    metadata: AnyObject,
    created_at: Time,
    updated_at: Time,
  }),
  v.title("Cron"),
);
export type Cron = v.InferOutput<typeof Cron>;

/** A firing on the wire, with the run and the thread that it made. */
export const Firing = v.pipe(
  v.object({
    cron_id: Id,
    due: Time,
    state: v.picklist(["due", "running", "ended", "failed", "refused"]),
    /** Why its run could not be started, at the last attempt. */
    error: v.nullable(v.string()),
    thread_id: v.string(),
    run_id: v.string(),
  }),
  v.title("Firing"),
);
export type Firing = v.InferOutput<typeof Firing>;

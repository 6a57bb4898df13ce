/** Alerts and their changes on the wire. The page reads these types: this file imports no part of the server but shapes. */
import * as v from "valibot";
import { Count, Id, Time } from "../../http/shapes.ts";

export const METRICS = ["error_rate", "latency", "cost", "tokens", "feedback_score", "run_count"] as const;
export const OPERATORS = ["gt", "gte", "lt", "lte"] as const;

const text = v.nullable(v.string());

const State = v.picklist(["ok", "firing", "resolved"]);

const Channel = v.object({
  type: v.picklist(["webhook", "slack", "email"]),
  url: v.optional(v.string()),
  headers: v.optional(v.record(v.string(), v.string())),
  provider: v.optional(v.string()),
  api_key: v.optional(v.string()),
  from: v.optional(v.string()),
  to: v.optional(v.array(v.string())),
});

export const Alert = v.pipe(
  v.object({
    id: Id,
    name: v.string(),
    session_id: Id,
    filter: text,
    is_enabled: v.boolean(),
    /** Why it cannot be evaluated, or cannot tell of it. Null: it can. */
    error: text,
    metric: v.picklist(METRICS),
    percentile: v.number(),
    feedback_key: text,
    operator: v.picklist(OPERATORS),
    threshold: v.number(),
    window_minutes: Count,
    min_runs: Count,
    fire_after: Count,
    resolve_after: Count,
    channels: v.array(Channel),
    state: State,
    /** The last figure. Null without enough runs, and before the first evaluation. */
    value: v.nullable(v.number()),
    state_since: Time,
    evaluated_at: v.nullable(Time),
    created_at: Time,
    updated_at: Time,
  }),
  v.title("Alert"),
);
export type Alert = v.InferOutput<typeof Alert>;

/** `cancelled`: the alert was paused, or lost the channel, before it was reached. */
const Delivered = v.picklist(["delivered", "pending", "failed", "cancelled"]);

export const AlertChange = v.pipe(
  v.object({
    id: Id,
    time: Time,
    from: State,
    to: State,
    value: v.nullable(v.number()),
    /** The worst outcome among the channels. */
    delivery: Delivered,
    attempts: Count,
    error: text,
    /** The outcome of each. `type`: null when the alert no longer has the channel. `time`: of the last attempt. */
    channels: v.array(v.object({ type: text, delivery: Delivered, error: text, time: v.nullable(Time) })),
  }),
  v.title("AlertChange"),
);
export type AlertChange = v.InferOutput<typeof AlertChange>;

export const Tested = v.object({
  channels: v.array(v.object({ type: v.string(), ok: v.boolean(), error: text })),
});
export type Tested = v.InferOutput<typeof Tested>;

/** Alerts and their changes in answers. */
import * as v from "valibot";
import { HIDDEN, hiddenHeaders, type ReceiverSecrets } from "../../deliveries/receiver.ts";
import { Count, Id, Time } from "../../http/shapes.ts";
import { METRICS, OPERATORS } from "./schema.ts";
import type { AlertEvent, AlertRow } from "./store.ts";

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

export const AlertChange = v.pipe(
  v.object({
    time: Time,
    from: State,
    to: State,
    value: v.nullable(v.number()),
    /** Whether each channel was notified. */
    delivery: v.picklist(["delivered", "pending", "failed"]),
    attempts: Count,
    error: text,
  }),
  v.title("AlertChange"),
);

export const Tested = v.object({
  channels: v.array(v.object({ type: v.string(), ok: v.boolean(), error: text })),
});

const iso = (millis: number) => new Date(millis).toISOString();

export function toWireAlert(row: AlertRow, { headers, keys }: ReceiverSecrets): v.InferOutput<typeof Alert> {
  const { condition } = row;
  return {
    id: row.id,
    name: row.name,
    session_id: row.projectId,
    filter: row.filter,
    is_enabled: row.isEnabled,
    metric: condition.metric,
    percentile: condition.percentile,
    feedback_key: condition.feedbackKey,
    operator: condition.operator,
    threshold: condition.threshold,
    window_minutes: condition.windowMinutes,
    min_runs: condition.minRuns,
    fire_after: condition.fireAfter,
    resolve_after: condition.resolveAfter,
    channels: row.channels.map((channel, number) => {
      const shown = hiddenHeaders(headers[number]);
      return {
        ...channel,
        ...(shown && { headers: shown }),
        ...(channel.type === "email" && keys[number] != null && { api_key: HIDDEN }),
      };
    }),
    state: row.state,
    value: row.value,
    state_since: iso(row.changedAt),
    evaluated_at: row.evaluatedAt === 0 ? null : iso(row.evaluatedAt),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

export function toWireEvent({
  at,
  from,
  to,
  value,
  pending,
  attempts,
  nextAt,
  error,
}: AlertEvent): v.InferOutput<typeof AlertChange> {
  const delivery = pending.length === 0 ? "delivered" : nextAt === null ? "failed" : "pending";
  return { time: iso(at), from, to, value, delivery, attempts, error };
}

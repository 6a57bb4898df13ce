/** Alerts and their changes in answers. */
import { HIDDEN, hiddenHeaders, type ReceiverSecrets } from "../../deliveries/receiver.ts";
import type { AlertEvent, AlertRow } from "./store.ts";
import type { Alert, AlertChange } from "./wire.ts";

export { Alert, AlertChange, Tested } from "./wire.ts";

const iso = (millis: number) => new Date(millis).toISOString();

export function toWireAlert(row: AlertRow, { headers, keys }: ReceiverSecrets): Alert {
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

export function toWireEvent({ at, from, to, value, pending, attempts, nextAt, error }: AlertEvent): AlertChange {
  const delivery = pending.length === 0 ? "delivered" : nextAt === null ? "failed" : "pending";
  return { time: iso(at), from, to, value, delivery, attempts, error };
}

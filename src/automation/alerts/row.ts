/** Alerts and their changes in answers. */
import { HIDDEN, hiddenHeaders, type ReceiverSecrets } from "../../deliveries/receiver.ts";
import type { DeliveryEvent } from "../../deliveries/events.ts";
import type { ReceiverState } from "../../deliveries/table.ts";
import type { AlertRow } from "./store.ts";
import type { AlertNotice } from "./table.ts";
import type { Alert, AlertChange } from "./wire.ts";

export { Alert, AlertChange, Tested } from "./wire.ts";

const iso = (millis: number) => new Date(millis).toISOString();

/** `error`: why it cannot be evaluated, or cannot tell of it. */
export function toWireAlert(row: AlertRow, { headers, keys }: ReceiverSecrets, error: string | null): Alert {
  const { condition } = row;
  return {
    id: row.id,
    name: row.name,
    session_id: row.projectId,
    filter: row.filter,
    is_enabled: row.isEnabled,
    error,
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
      if (channel.type === "webhook") return { type: channel.type, url: channel.url, ...(shown && { headers: shown }) };
      if (channel.type === "slack") return { type: channel.type, url: channel.url };
      const { type, provider, from, to } = channel;
      return { type, provider, from, to, ...(keys[number] != null && { api_key: HIDDEN }) };
    }),
    state: row.state,
    value: row.value,
    state_since: iso(row.changedAt),
    evaluated_at: row.evaluatedAt === 0 ? null : iso(row.evaluatedAt),
    created_at: iso(row.createdAt),
    updated_at: iso(row.updatedAt),
  };
}

/** `types`: those of the alert's channels, by their ids. */
export function toWireEvent(
  { id, event, receivers, attempts }: DeliveryEvent,
  types: Map<string, string>,
): AlertChange {
  const { at, from, to, value } = event as unknown as AlertNotice & { to: AlertRow["state"] };
  const find = (state: ReceiverState["state"]) => receivers.find((one) => one.state === state);
  const worst = find("pending") ?? find("failed") ?? find("cancelled");
  return {
    id,
    time: iso(at),
    from,
    to,
    value,
    delivery: worst?.state ?? "delivered",
    attempts,
    error: worst?.error ?? null,
    channels: receivers.map((one) => ({
      type: types.get(one.id) ?? null,
      delivery: one.state,
      error: one.error,
      time: one.at === null ? null : iso(one.at),
    })),
  };
}

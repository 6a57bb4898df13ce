/** The sweep of every minute: it evaluates the alerts, and reports changes. */
import { database } from "../db/client.ts";
import { openSecret } from "../encryption/secrets.ts";
import { logError } from "../http/log.ts";
import { CONNECTIONS, inParallel } from "../http/parallel.ts";
import { type AlertSecrets, tell } from "./deliver.ts";
import { measure } from "./measure.ts";
import { findingOf, nextState } from "./state.ts";
import {
  type AlertEvent,
  type AlertRow,
  deleteOldEvents,
  dueAlerts,
  pendingEvents,
  saveDelivery,
  writeEvaluation,
} from "./store.ts";

/** An alert is evaluated once a minute. The clock's ticks are not exact, milliseconds. */
const EVERY_MS = 50_000;
/** Alerts of one sweep, those first that have waited longest. */
const MOST_ALERTS_AT_ONCE = 500;
const MOST_EVENTS = 200;
/** Seconds before the next attempt, by how many have failed. After the last one the channel is given up. */
const RETRY_SECONDS = [60, 120, 300, 600, 1_800, 3_600];
const HISTORY_MS = 90 * 24 * 3_600_000;
const MOST_ERROR = 500;

export const purposeOf = (alertId: string) => `alert ${alertId}`;

/** `now`: milliseconds. An alert that cannot be evaluated keeps no other from it. */
export async function sweepAlerts(env: Env, now: number): Promise<void> {
  const db = database(env.DB);
  await inParallel(await dueAlerts(db, now - EVERY_MS, MOST_ALERTS_AT_ONCE), CONNECTIONS, async (alert) => {
    try {
      const value = await measure(env, alert, now);
      const next = nextState(alert, findingOf(value, alert.condition), alert.condition);
      await writeEvaluation(db, alert, { ...next, value, at: now });
    } catch (error) {
      logError(error, { alert: alert.id });
    }
  });
  await inParallel(await pendingEvents(db, now, MOST_EVENTS), CONNECTIONS, async ({ event, alert }) =>
    saveDelivery(db, await delivered(env, alert, event, now)),
  );
  await deleteOldEvents(db, now - HISTORY_MS);
}

/** The event after its channels were notified. */
async function delivered(env: Env, alert: AlertRow, event: AlertEvent, now: number): Promise<AlertEvent> {
  const left: number[] = [];
  let error: string | null = null;
  for (const number of event.pending) {
    try {
      await tell(env, alert, number, await secretsOf(env, alert), event);
    } catch (failure) {
      left.push(number);
      error = (failure instanceof Error ? failure.message : String(failure)).slice(0, MOST_ERROR);
      logError(failure, { alert: alert.id, channel: number });
    }
  }
  const wait = RETRY_SECONDS[event.attempts];
  const nextAt = left.length === 0 || wait === undefined ? null : now + wait * 1000;
  return { ...event, pending: left, attempts: event.attempts + 1, nextAt, error };
}

export async function secretsOf(env: Env, { id, workspaceId, secrets }: AlertRow): Promise<AlertSecrets> {
  if (secrets === null) return { headers: [], keys: [] };
  return JSON.parse(await openSecret(env, workspaceId, secrets, purposeOf(id))) as AlertSecrets;
}

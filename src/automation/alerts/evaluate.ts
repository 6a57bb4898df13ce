/** The sweep of every minute: it evaluates the alerts, and reports changes. */
import type { Allowance } from "../../db/client.ts";
import { database } from "../../db/client.ts";
import { logError } from "../../lib/log.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { measure } from "../../alerts/measure.ts";
import { notifyChannels } from "../../alerts/notify.ts";
import { compareValue, nextState } from "../../alerts/state.ts";
import { type AlertRow, deleteOldEvents, dueAlerts, writeEvaluation } from "./store.ts";

/** An alert is evaluated once a minute. The clock's ticks are not exact, milliseconds. */
const EVERY_MS = 50_000;
/** Alerts of one sweep, those first that have waited longest. */
const MOST_ALERTS_AT_ONCE = 500;
const HISTORY_MS = 90 * 24 * 3_600_000;

/**
 * `now`: milliseconds. An alert that cannot be evaluated keeps no other from it. Those for which the allowance is too small are the
 * first of the next sweep.
 */
export async function sweepAlerts({ env, isSpent }: Allowance, now: number, most = MOST_ALERTS_AT_ONCE): Promise<void> {
  const db = database(env.DB);
  // What earlier sweeps have left comes first: the evaluations may spend the whole allowance.
  await notifyChannels({ env, isSpent }, now);
  await inParallel(await dueAlerts(db, now - EVERY_MS, most), CONNECTIONS, async (alert) => {
    if (isSpent()) return;
    try {
      await evaluate(env, alert, now);
    } catch (error) {
      logError(error, { alert: alert.id });
    }
  });
  await notifyChannels({ env, isSpent }, now);
  await deleteOldEvents(db, now - HISTORY_MS);
}

/** An alert that cannot be measured keeps its state and its place in the order: it waits as long as the others. */
async function evaluate(env: Env, alert: AlertRow, now: number): Promise<void> {
  const db = database(env.DB);
  const { state, streak, value: before } = alert;
  try {
    const value = await measure(env, alert, now);
    const next = nextState(alert, compareValue(value, alert.condition), alert.condition);
    await writeEvaluation(db, alert, { ...next, value, at: now });
  } catch (error) {
    await writeEvaluation(db, alert, { state, streak, value: before, at: now });
    throw error;
  }
}

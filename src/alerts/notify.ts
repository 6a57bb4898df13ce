/** Notifies the channels of alerts of their changes. A sweep holds a change while it does so, and notes each channel. */
import type { Allowance } from "../db/client.ts";
import { database } from "../db/client.ts";
import { logError } from "../lib/log.ts";
import { CONNECTIONS, inParallel } from "../lib/parallel.ts";
import { REQUEST_TIMEOUT_MS } from "../deliveries/send.ts";
import { deliver } from "../automation/alerts/notify.ts";
import { openSecrets } from "./secrets.ts";
import { type AlertEvent, type AlertRow, changeEvent, pendingEvents } from "../automation/alerts/store.ts";

const MOST_EVENTS = 200;
/** A channel that is not noted for this time is called by another sweep: the one before it was killed. */
const LEASE_MS = 2 * REQUEST_TIMEOUT_MS;
/** Seconds before the next attempt, by how many have failed. After the last one the channel is given up. */
const RETRY_SECONDS = [60, 120, 300, 600, 1_800, 3_600];
const MOST_ERROR = 500;

/** `now`: milliseconds. */
export async function notifyChannels({ env, isSpent }: Allowance, now: number): Promise<void> {
  const began = Date.now();
  const lease = () => now + Date.now() - began + LEASE_MS;
  await inParallel(await pendingEvents(database(env.DB), now, MOST_EVENTS), CONNECTIONS, async ({ event, alert }) => {
    if (isSpent()) return;
    try {
      await notify(env, alert, event, { now, lease });
    } catch (error) {
      logError(error, { alert: alert.id });
    }
  });
}

async function notify(
  env: Env,
  alert: AlertRow,
  event: AlertEvent,
  { now, lease }: { now: number; lease: () => number },
): Promise<void> {
  const db = database(env.DB);
  const { attempts } = event;
  // Each attempt is counted when it begins: one that kills its sweep is repeated a limited number of times.
  if (attempts > RETRY_SECONDS.length) {
    const error = event.error ?? "The last attempt was cut off.";
    return void (await changeEvent(db, event, { nextAt: null, error }));
  }
  let held = await changeEvent(db, event, { attempts: attempts + 1, nextAt: lease() });
  let error: string | null = null;
  for (const number of event.pending) {
    if (!held) return;
    const failure = await deliveryFailure(env, alert, number, event);
    error = failure ?? error;
    const pending: number[] = failure === null ? held.pending.filter((one) => one !== number) : held.pending;
    held = await changeEvent(db, held, { pending, error, nextAt: lease() });
  }
  if (!held) return;
  const wait = RETRY_SECONDS[attempts];
  const isOver = held.pending.length === 0 || wait === undefined;
  await changeEvent(db, held, { error, nextAt: isOver ? null : now + wait * 1000 });
}

async function deliveryFailure(env: Env, alert: AlertRow, number: number, event: AlertEvent): Promise<string | null> {
  try {
    await deliver(env, alert, number, await openSecrets(env, alert), event);
    return null;
  } catch (failure) {
    logError(failure, { alert: alert.id, channel: number });
    return (failure instanceof Error ? failure.message : String(failure)).slice(0, MOST_ERROR);
  }
}

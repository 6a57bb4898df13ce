/** What time makes useless, removed once an hour by the Cron Trigger. */
import { forgetAnonymous } from "../audit/store.ts";
import { database } from "../db/client.ts";
import { forgetExpired } from "./store.ts";

const MINUTE_MS = 60_000;
const ANONYMOUS_DAYS = 30;

/** Called every minute with the minute's time (milliseconds since 1970); works on one of sixty. */
export async function cleanUp(env: Env, now: number): Promise<void> {
  if (Math.floor(now / MINUTE_MS) % 60 !== 17) return;
  const db = database(env.DB);
  await forgetExpired(db, now);
  await forgetAnonymous(db, now - ANONYMOUS_DAYS * 24 * 60 * MINUTE_MS);
}

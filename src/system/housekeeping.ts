/** What the clock clears away: whatever is kept for a while only. */
import { forgetAnonymous } from "../audit/store.ts";
import { database } from "../db/client.ts";
import { deleteOldKeys } from "../idempotency/store.ts";
import { deleteExpired } from "../memory/store.ts";
import { forgetExpired } from "../oauth/store.ts";
import { deleteExpiredTokens } from "../traces/feedback/token-store.ts";

const MINUTE_MS = 60_000;
const ANONYMOUS_DAYS = 30;

/** Called every minute with the minute's time, milliseconds since 1970. What OAuth leaves behind goes once an hour. */
export async function housekeeping(env: Env, now: number): Promise<void> {
  const db = database(env.DB);
  const hourly = Math.floor(now / MINUTE_MS) % 60 === 17;
  await Promise.all([
    deleteExpired(db, now),
    deleteOldKeys(db, now),
    deleteExpiredTokens(db, now),
    hourly && forgetExpired(db, now),
    hourly && forgetAnonymous(db, now - ANONYMOUS_DAYS * 24 * 60 * MINUTE_MS),
  ]);
}

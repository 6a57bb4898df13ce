/** What the clock clears away every minute: items, idempotency keys and links for feedback whose time is over. */
import { database } from "../db/client.ts";
import { deleteOldKeys } from "../idempotency/store.ts";
import { deleteExpired } from "../memory/store.ts";
import { deleteExpiredTokens } from "../traces/feedback/token-store.ts";

/** Called every minute with the minute's time, milliseconds since 1970. */
export async function housekeeping(env: Env, now: number): Promise<void> {
  const db = database(env.DB);
  await Promise.all([deleteExpired(db, now), deleteOldKeys(db, now), deleteExpiredTokens(db, now)]);
}

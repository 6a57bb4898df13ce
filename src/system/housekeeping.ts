/** Deletes expired rows. */
import { chainAll } from "../access/audit/chain.ts";
import { storeRoots } from "../access/audit/chain.ts";
import { forgetAnonymous } from "../access/audit/store.ts";
import { deleteEndedSessions } from "../access/auth/sessions.ts";
import { deleteExpiredKeys } from "../access/auth/store.ts";
import { database } from "../db/client.ts";
import { runAll } from "../lib/parallel.ts";
import { deleteOldKeys } from "../access/idempotency/store.ts";
import { deleteOldInvitations } from "../access/members/store.ts";
import { deleteExpired } from "../agents/memory/store.ts";
import { forgetExpired } from "../access/oauth/store.ts";
import { deleteExpiredTokens } from "../traces/review/feedback/store.ts";
import { deleteExpiredSecrets } from "../deliveries/store.ts";

const MINUTE_MS = 60_000;
const ANONYMOUS_DAYS = 30;
/** Expired keys are listed for so long, so that people see why a program of theirs stopped. */
const EXPIRED_KEY_DAYS = 90;

/**
 * Runs every minute. `now` is the minute's time, milliseconds since 1970. OAuth and audit rows are deleted once an hour. One
 * call deletes at most 10,000 rows of a table.
 * @throws AggregateError when a task fails. The other tasks complete.
 */
export async function housekeeping(env: Env, now: number): Promise<void> {
  const db = database(env.DB);
  const hourly = Math.floor(now / MINUTE_MS) % 60 === 17;
  await runAll({
    "deleting Store items": () => deleteExpired(db, now),
    "deleting idempotency keys": () => deleteOldKeys(db, now),
    "deleting webhook secrets": () => deleteExpiredSecrets(db, now),
    "deleting feedback tokens": () => deleteExpiredTokens(db, now),
    "chaining audit entries": () => chainAll(db),
    ...(hourly && {
      "keeping the roots of the audit trail": () => storeRoots(db, env.EXPORTS_BUCKET, now),
      "deleting what OAuth leaves": () => forgetExpired(db, now),
      "deleting sessions": () => deleteEndedSessions(db, now),
      "deleting invitations": () => deleteOldInvitations(db, now),
      "deleting API keys": () => deleteExpiredKeys(db, now - EXPIRED_KEY_DAYS * 24 * 60 * MINUTE_MS),
      "deleting audit entries": () => forgetAnonymous(db, now - ANONYMOUS_DAYS * 24 * 60 * MINUTE_MS),
    }),
  });
}

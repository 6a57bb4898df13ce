/** Deletes expired rows each minute, and on request all rows of a workspace. */
import * as v from "valibot";
import { deleteAllAssistants } from "../agents/assistants/store.ts";
import { deleteAllCrons, deleteCronsOn } from "../automation/crons/store.ts";
import { deleteThreads } from "../threads/api/delete.ts";
import { chainAll, storeRoots } from "../access/audit/chain.ts";
import { forgetAnonymous } from "../access/audit/store.ts";
import { deleteEndedSessions } from "../access/auth/sessions.ts";
import { deleteExpiredKeys } from "../access/auth/store.ts";
import { database } from "../db/client.ts";
import { runAll } from "../lib/parallel.ts";
import { deleteOldKeys } from "../access/idempotency/store.ts";
import { deleteOldInvitations } from "../access/members/store.ts";
import { deleteAllItems, deleteExpired } from "../agents/memory/store.ts";
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

// `POST /internal/truncate`: deletes the named kinds of data from the caller's workspace. For tests on localhost only.

const flag = v.optional(v.boolean(), false);
export const Truncate = v.object({ runs: flag, threads: flag, assistants: flag, checkpointer: flag, store: flag });

/** Runs and checkpoints are stored in their threads: naming them deletes the threads' content too. */
export async function truncate(env: Env, workspaceId: string, what: v.InferOutput<typeof Truncate>): Promise<void> {
  const db = database(env.DB);
  if (what.threads || what.runs || what.checkpointer) await deleteThreads(env, workspaceId, deleteCronsOn);
  if (what.threads || what.runs || what.assistants) await deleteAllCrons(db, workspaceId);
  if (what.assistants) await deleteAllAssistants(db, workspaceId);
  if (what.store) await deleteAllItems(db, workspaceId);
}

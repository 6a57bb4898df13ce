import { and, eq, isNull, lt, or } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { deleteOverdue } from "../db/delete.ts";
import { idempotencyKeys } from "../db/schema.ts";

export type KeyRow = typeof idempotencyKeys.$inferSelect;

/** How long a key's answer is kept, milliseconds. */
export const KEPT_MS = 24 * 3_600_000;
/** A request without an answer after this time counts as failed. Another request may then use its key. */
const ABANDONED_MS = 120_000;

/**
 * Takes the key for a request about to be answered; undefined when it is ours now, else what holds it. `claim` is an id of
 * the request: a second call with it, after the answer to the first one was lost, finds that the key is ours.
 */
export async function claimKey(
  db: Database,
  { workspaceId, key, fingerprint, claim }: Pick<KeyRow, "workspaceId" | "key" | "fingerprint"> & { claim: string },
): Promise<KeyRow | undefined> {
  const now = Date.now();
  const free = or(
    lt(idempotencyKeys.createdAt, now - KEPT_MS),
    and(isNull(idempotencyKeys.status), lt(idempotencyKeys.createdAt, now - ABANDONED_MS)),
  );
  // Until there is an answer, `body` holds the claim.
  const row = { workspaceId, key, fingerprint, status: null, headers: null, body: claim, createdAt: now };
  const target = [idempotencyKeys.workspaceId, idempotencyKeys.key];
  const [, [held]] = await db.batch([
    db.insert(idempotencyKeys).values(row).onConflictDoUpdate({ target, set: row, setWhere: free }),
    db.select().from(idempotencyKeys).where(isKey(workspaceId, key)),
  ]);
  return held?.status === null && held.body === claim ? undefined : held;
}

/** Keeps the answer of the request that holds the key. Status 0: a stream; 1: an answer with a secret. Neither is kept. */
export async function saveAnswer(
  db: Database,
  { workspaceId, key, ...answer }: Pick<KeyRow, "workspaceId" | "key" | "status" | "headers" | "body">,
): Promise<void> {
  await db.update(idempotencyKeys).set(answer).where(isKey(workspaceId, key));
}

/** Lets a key go whose request failed on our side, so that the client's next try is a first one. */
export async function releaseKey(db: Database, workspaceId: string, key: string): Promise<void> {
  await db.delete(idempotencyKeys).where(isKey(workspaceId, key));
}

/** Deletes keys older than 24 hours. */
export async function deleteOldKeys(db: Database, now: number): Promise<void> {
  await deleteOverdue(db, idempotencyKeys, lt(idempotencyKeys.createdAt, now - KEPT_MS));
}

function isKey(workspaceId: string, key: string) {
  return and(eq(idempotencyKeys.workspaceId, workspaceId), eq(idempotencyKeys.key, key));
}

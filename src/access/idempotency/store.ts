import { and, eq, gt, isNull, lt, or, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { deleteOverdue } from "../../db/writes.ts";
import { idempotencyKeys } from "./table.ts";

export type IdempotencyKeyRow = typeof idempotencyKeys.$inferSelect;
/** A request that holds its key. */
export type IdempotencyClaim = Pick<IdempotencyKeyRow, "workspaceId" | "key"> & { claim: string };

/** How long a key is kept from its first claim, milliseconds. */
export const KEPT_MS = 24 * 3_600_000;
/** A request without an answer after this time counts as failed. Another request may then use its key. */
const ABANDONED_MS = 120_000;

/**
 * Takes the key for a request about to be answered, and returns the key's row: it is the request's own when `isHeldBy` says
 * so. `claim` is an id of the request: a second call with it, after the answer to the first one was lost, takes the key
 * once.
 */
export async function claimKey(
  db: Database,
  { fingerprint, ...mine }: IdempotencyClaim & Pick<IdempotencyKeyRow, "fingerprint">,
): Promise<IdempotencyKeyRow> {
  const { workspaceId, key, claim } = mine;
  const now = Date.now();
  const { epoch, createdAt, status } = idempotencyKeys;
  const over = lt(epoch, now - KEPT_MS);
  const free = or(over, and(isNull(status), lt(createdAt, now - ABANDONED_MS)));
  // Until there is an answer, `body` holds the claim.
  const row = { workspaceId, key, fingerprint, status: null, headers: null, body: claim, createdAt: now };
  const again = { ...row, epoch: sql`CASE WHEN ${over} THEN ${now} ELSE ${epoch} END` };
  const target = [idempotencyKeys.workspaceId, idempotencyKeys.key];
  const [, [held]] = await db.batch([
    db
      .insert(idempotencyKeys)
      .values({ ...row, epoch: now })
      .onConflictDoUpdate({ target, set: again, setWhere: free }),
    db.select().from(idempotencyKeys).where(isKey(mine)),
  ]);
  if (!held) throw new Error("The Idempotency-Key was deleted while it was claimed.");
  return held;
}

export const isHeldBy = ({ claim }: IdempotencyClaim, { status, body }: IdempotencyKeyRow): boolean =>
  status === null && body === claim;

export const keyEnd = ({ epoch }: IdempotencyKeyRow): number => epoch + KEPT_MS;

/** Keeps the answer of the request that holds the key. Status 0: a stream; 1: an answer with a secret. Neither is kept. */
export async function saveResponse(
  db: Database,
  claim: IdempotencyClaim,
  answer: Pick<IdempotencyKeyRow, "status" | "headers" | "body">,
): Promise<void> {
  await db.update(idempotencyKeys).set(answer).where(isHeld(claim));
}

/** Keeps the text of a stream, for whose request `saveAnswer` has noted a stream that is not kept. */
export async function saveStream(
  db: Database,
  row: Pick<IdempotencyKeyRow, "workspaceId" | "key" | "epoch">,
  answer: Pick<IdempotencyKeyRow, "status" | "headers" | "body">,
): Promise<void> {
  const { status, epoch } = idempotencyKeys;
  const isOpen = and(isKey(row), eq(status, 0), eq(epoch, row.epoch));
  await db.update(idempotencyKeys).set(answer).where(isOpen);
}

/**
 * Lets the next request have the key. The epoch stays: what this request made, although its answer says otherwise, has
 * ids of that epoch. A released key is like an abandoned one.
 */
export async function releaseKey(db: Database, claim: IdempotencyClaim): Promise<void> {
  const createdAt = Date.now() - ABANDONED_MS - 1;
  await db.update(idempotencyKeys).set({ body: null, createdAt }).where(isHeld(claim));
}

// What a deleted thread leaves: the ids that repeated requests may derive again. Its object is empty, so they are beside the keys.

/** Ids in one statement, well below 2 MB. */
const AT_ONCE = 10_000;

const deletedKey = (threadId: string, id = "") => `deleted ${threadId} ${id}`;

/** Keeps ids of what is deleted with a thread, as long as keys are kept. */
export async function keepDeletedIds(
  db: Database,
  workspaceId: string,
  threadId: string,
  ids: string[],
): Promise<void> {
  const now = Date.now();
  for (let n = 0; n < ids.length; n += AT_ONCE) {
    const keys = JSON.stringify(ids.slice(n, n + AT_ONCE).map((id) => deletedKey(threadId, id)));
    await db.run(sql`INSERT INTO ${idempotencyKeys} (workspace_id, key, fingerprint, status, created_at, epoch)
      SELECT ${workspaceId}, value, '', 409, ${now}, ${now} FROM json_each(${keys}) WHERE true
      ON CONFLICT DO UPDATE SET created_at = excluded.created_at`);
  }
}

/** The ids that were deleted with a thread of this id in the last 24 hours. */
export async function readDeletedIds(db: Database, workspaceId: string, threadId: string): Promise<Set<string>> {
  const { key } = idempotencyKeys;
  const start = deletedKey(threadId);
  const isOfThread = and(eq(idempotencyKeys.workspaceId, workspaceId), gt(key, start), lt(key, `${start}~`));
  const rows = await db.select({ key }).from(idempotencyKeys).where(isOfThread);
  return new Set(rows.map((row) => row.key.slice(start.length)));
}

/** Deletes keys older than 24 hours. */
export async function deleteOldKeys(db: Database, now: number): Promise<void> {
  await deleteOverdue(db, idempotencyKeys, lt(idempotencyKeys.createdAt, now - KEPT_MS));
}

function isKey({ workspaceId, key }: Pick<IdempotencyKeyRow, "workspaceId" | "key">) {
  return and(eq(idempotencyKeys.workspaceId, workspaceId), eq(idempotencyKeys.key, key));
}

/** A request that takes longer than `ABANDONED_MS` may have lost its key to another one. */
function isHeld(claim: IdempotencyClaim) {
  return and(isKey(claim), isNull(idempotencyKeys.status), eq(idempotencyKeys.body, claim.claim));
}

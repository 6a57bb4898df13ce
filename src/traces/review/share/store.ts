/** D1: links by which anyone may read one trace or one dataset. */
import { and, eq, gt, isNotNull, isNull, lte, or } from "drizzle-orm";
import { inList } from "../../../db/conditions.ts";
import { type Database, database } from "../../../db/client.ts";
import { shares } from "./table.ts";
import * as v from "valibot";
import { Id, Time } from "../../../http/shapes.ts";
import { openSecret, sealSecret } from "../../../access/encryption/keys.ts";
import { sha256 } from "../../../lib/crypto.ts";
import { Problem } from "../../../lib/problem.ts";

export type ShareRow = typeof shares.$inferSelect;
export type ShareLocator = Pick<ShareRow, "workspaceId" | "kind" | "targetId">;

const isTarget = ({ workspaceId, kind, targetId }: ShareLocator) =>
  and(eq(shares.workspaceId, workspaceId), eq(shares.kind, kind), eq(shares.targetId, targetId));

const isOver = () => and(isNotNull(shares.expiresAt), lte(shares.expiresAt, Date.now()));
const isValid = () => or(isNull(shares.expiresAt), gt(shares.expiresAt, Date.now()));

/** Inserts a share unless its target or its token has one. A share of the target that has expired makes room. */
export async function insertShare(db: Database, row: ShareRow): Promise<void> {
  await db.batch([
    db.delete(shares).where(and(isTarget(row), isOver())),
    db.insert(shares).values(row).onConflictDoNothing(),
  ]);
}

/** Sets when a share ends, milliseconds; null for never. */
export async function setShareExpiry(db: Database, target: ShareLocator, expiresAt: number | null): Promise<void> {
  await db.update(shares).set({ expiresAt }).where(isTarget(target));
}

export async function findShare(db: Database, target: ShareLocator): Promise<ShareRow | undefined> {
  return db
    .select()
    .from(shares)
    .where(and(isTarget(target), isValid()))
    .get();
}

export async function findShareByHash(db: Database, hash: string): Promise<ShareRow | undefined> {
  return db
    .select()
    .from(shares)
    .where(and(eq(shares.hash, hash), isValid()))
    .get();
}

export async function deleteShare(db: Database, target: ShareLocator): Promise<void> {
  await db.delete(shares).where(isTarget(target));
}

/** Deletes the shares of these traces of a project. Another project can have a trace of the same id. */
export async function deleteSharesOfTraces(
  db: Database,
  workspaceId: string,
  projectId: string,
  traceIds: string[],
): Promise<void> {
  const ofProject = and(eq(shares.workspaceId, workspaceId), eq(shares.projectId, projectId));
  await db.delete(shares).where(and(ofProject, eq(shares.kind, "run"), inList(shares.targetId, traceIds)));
}

/** A page of the traces of a project that are shared, after a trace. */
export async function sharedTraces(
  db: Database,
  { workspaceId, projectId }: { workspaceId: string; projectId: string },
  after: string,
  limit: number,
): Promise<string[]> {
  const ofProject = and(eq(shares.workspaceId, workspaceId), eq(shares.kind, "run"), eq(shares.projectId, projectId));
  const rows = await db
    .select({ id: shares.targetId })
    .from(shares)
    .where(and(ofProject, gt(shares.targetId, after)))
    .orderBy(shares.targetId)
    .limit(limit)
    .all();
  return rows.map(({ id }) => id);
}

export async function deleteSharesOfProject(db: Database, workspaceId: string, projectId: string): Promise<void> {
  await db.delete(shares).where(and(eq(shares.workspaceId, workspaceId), eq(shares.projectId, projectId)));
}

// Links by which anyone may read one trace or one dataset, until it ends or is deleted. The token is the only credential.

const PURPOSE = "share token";

/** A link as answers show it; `expires_at` is null for a link without an end. */
export type Share = v.InferOutput<typeof Share>;
export const Share = v.object({ share_token: Id, expires_at: v.nullable(Time) });

/** When a link ends, milliseconds; null for never. Undefined leaves the end as it is. */
export type LinkEnd = number | null | undefined;

export type ShareTarget = ShareLocator & { projectId: string | null };

/** The target's link, which is created when there is none. An end that is given replaces that of an existing link. */
export async function createShare(env: Env, target: ShareTarget, expiresAt: LinkEnd): Promise<Share> {
  const token = crypto.randomUUID();
  const db = database(env.DB);
  const sealed = await sealSecret(env, target.workspaceId, token, PURPOSE);
  const row = { ...target, hash: sha256(token), sealed, createdAt: Date.now(), expiresAt: expiresAt ?? null };
  await insertShare(db, row);
  if (expiresAt !== undefined) await setShareExpiry(db, target, expiresAt);
  const share = await knownShare(env, target);
  if (share === undefined) throw new Problem(409, "The link was deleted at the same time. Share again.");
  return share;
}

/** The target's link. Undefined when it is not shared, or no longer shared. */
export async function knownShare(env: Env, target: ShareLocator): Promise<Share | undefined> {
  const row = await findShare(database(env.DB), target);
  if (!row) return undefined;
  const expires_at = row.expiresAt === null ? null : new Date(row.expiresAt).toISOString();
  return { share_token: await openSecret(env, row.workspaceId, row.sealed, PURPOSE), expires_at };
}

/** What the token lets its holder read. @throws Problem 404 */
export async function requireShare(env: Env, token: string, kind: ShareRow["kind"]): Promise<ShareRow> {
  const row = await findShareByHash(database(env.DB), sha256(token));
  if (row?.kind !== kind) throw new Problem(404, "This link is not valid, or is no longer shared.");
  return row;
}

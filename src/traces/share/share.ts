/** Links by which anyone may read one trace or one dataset, until it ends or is deleted. The token is the only credential. */
import * as v from "valibot";
import { Id, Time } from "../../http/shapes.ts";
import { openSecret, sealSecret } from "../../access/encryption/keys.ts";
import { sha256 } from "../../lib/crypto.ts";
import { database } from "../../db/client.ts";
import { Problem } from "../../lib/problem.ts";
import {
  findShare,
  findShareByHash,
  insertShare,
  setShareExpiry,
  type ShareRow,
  type Target,
} from "../review/share/store.ts";

const PURPOSE = "share token";

/** A link as answers show it; `expires_at` is null for a link without an end. */
export type Share = v.InferOutput<typeof Share>;
export const Share = v.object({ share_token: Id, expires_at: v.nullable(Time) });

/** When a link ends, milliseconds; null for never. Undefined leaves the end as it is. */
export type LinkEnd = number | null | undefined;

export type ShareTarget = Target & { projectId: string | null };

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
export async function knownShare(env: Env, target: Target): Promise<Share | undefined> {
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

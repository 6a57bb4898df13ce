/** Links by which anyone may read one trace or one dataset, until the link is deleted. The token is the only credential. */
import { seal, unseal } from "../../auth/seal.ts";
import { sha256 } from "../../auth/secret.ts";
import { database } from "../../db/client.ts";
import { Problem } from "../../http/problem.ts";
import { findShare, findShareByHash, insertShare, type ShareRow, type Target } from "./store.ts";

const PURPOSE = "share token";

/**
 * The token of the target's link, which is created when there is none. `wanted` is the token that the caller proposes.
 * @throws Problem 409 when the proposed token is in use.
 */
export async function shareToken(
  env: Env,
  target: Target & { projectId: string | null },
  wanted: string = crypto.randomUUID(),
): Promise<string> {
  const db = database(env.DB);
  const row = { ...target, hash: sha256(wanted), sealed: await seal(env, wanted, PURPOSE), createdAt: Date.now() };
  await insertShare(db, row);
  const token = await knownToken(env, target);
  if (token === undefined) throw new Problem(409, "Another link has this share_token.");
  return token;
}

/** The token of the target's link. Undefined when it is not shared. */
export async function knownToken(env: Env, target: Target): Promise<string | undefined> {
  const row = await findShare(database(env.DB), target);
  return row && unseal(env, row.sealed, PURPOSE);
}

/** What the token lets its holder read. @throws Problem 404 */
export async function sharedBy(env: Env, token: string, kind: ShareRow["kind"]): Promise<ShareRow> {
  const row = await findShareByHash(database(env.DB), sha256(token));
  if (row?.kind !== kind) throw new Problem(404, "This link is not valid, or is no longer shared.");
  return row;
}

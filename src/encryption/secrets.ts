/**
 * Secrets of a workspace that must be read again. ENCRYPTION_KEY seals them; in a workspace that has keys the newest of these does so,
 * too, and its destruction ends them.
 */
import { sealText, unseal } from "../lib/crypto.ts";
import { type KeySource, loadRing, withRing } from "../access/encryption/keys.ts";

const secretPlace = (purpose: string) => ["secret", purpose];

export async function sealSecret(env: KeySource, workspaceId: string, text: string, purpose: string): Promise<string> {
  const sealed = await sealText(env, text, purpose);
  return (await loadRing(env, workspaceId)).seal(sealed, secretPlace(purpose));
}

/** Throws when no key of the deployment or the workspace opens it, or it was sealed for another purpose. */
export async function openSecret(env: KeySource, workspaceId: string, held: string, purpose: string): Promise<string> {
  return unseal(env, await innerSecret(env, workspaceId, held, purpose), purpose);
}

/** What ENCRYPTION_KEY has sealed of it. */
export async function innerSecret(env: KeySource, workspaceId: string, held: string, purpose: string): Promise<string> {
  return withRing(env, workspaceId, (ring) => ring.open(held, secretPlace(purpose)));
}

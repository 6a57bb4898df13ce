/** The keys of a workspace as this isolate has last read them: at most five seconds ago. */
import { isStale, sealText, type SealKeys, unseal } from "../../lib/crypto.ts";
import { type Database, database } from "../../db/client.ts";
import { RowCache } from "../../lib/cache.ts";
import { type DataKeyRow, Ring, UnknownKey } from "./ring.ts";
import { readKeys, rewrapKey } from "./store.ts";

/** Where keys are read, and what opens them. */
export type KeySource = SealKeys & Pick<Env, "DB">;

const cache = new RowCache<Ring>();
/** The ring of each workspace that was made last: its rows as text, to unwrap keys only when rows change. */
const made = new Map<string, { text: string; ring: Ring }>();
const MAX_KEPT = 1_000;

/** Binds a wrapped key to its workspace and id. */
const keyPurpose = (workspaceId: string, id: string) => `data key ${workspaceId} ${id}`;

/** A new data key, wrapped by ENCRYPTION_KEY. */
export async function wrapNewKey(env: SealKeys, workspaceId: string, id: string): Promise<string> {
  const key = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64");
  return sealText(env, key, keyPurpose(workspaceId, id));
}

/** The keys of a workspace. Fails when they cannot be read: nothing is stored that should have been encrypted. */
export async function loadRing(env: KeySource, workspaceId: string): Promise<Ring> {
  const ring = await cache.get(workspaceId, async () => readRing(env, workspaceId));
  return ring ?? new Ring(workspaceId);
}

/** The keys as D1 has them now. */
export async function freshRing(env: KeySource, workspaceId: string): Promise<Ring> {
  return (await readRing(env, workspaceId)).fresh;
}

/** What a call of an object tells it of its workspace's keys. */
export const keysFor = (env: KeySource, workspaceId: string) => async (): Promise<readonly DataKeyRow[]> =>
  (await loadRing(env, workspaceId)).rows;

/** Reads with the keys of a workspace, and once more when another isolate has made a key that this one has not read yet. */
export async function withRing<T>(
  env: KeySource,
  workspaceId: string,
  read: (ring: Ring) => T | Promise<T>,
): Promise<T> {
  try {
    return await read(await loadRing(env, workspaceId));
  } catch (error) {
    if (!(error instanceof UnknownKey)) throw error;
    forgetRing(workspaceId);
    return read((await loadRing(env, workspaceId)).fresh);
  }
}

async function readRing(env: KeySource, workspaceId: string): Promise<Ring> {
  const db = database(env.DB);
  return ringFrom(env, workspaceId, await rewrapKeys(env, db, workspaceId, await readKeys(db, workspaceId)));
}

/** The ring of rows that a caller has read; the one of rows that were read later, when this isolate has it. */
export async function ringFrom(env: SealKeys, workspaceId: string, rows: readonly DataKeyRow[]): Promise<Ring> {
  const text = JSON.stringify(rows);
  const known = made.get(workspaceId);
  if (known && (known.text === text || isEarlier(rows, known.ring.rows))) return known.ring;
  const keys = new Map<string, Uint8Array>();
  for (const { id, wrapped } of rows) {
    if (wrapped === null) continue;
    keys.set(id, Buffer.from(await unseal(env, wrapped, keyPurpose(workspaceId, id)), "base64"));
  }
  const ring = new Ring(workspaceId, rows, keys);
  if (made.size >= MAX_KEPT) made.clear();
  made.set(workspaceId, { text, ring });
  return ring;
}

/** Whether `rows` were read before `others`. Keys are only added and destroyed, so counts tell the order. */
export function isEarlier(rows: readonly DataKeyRow[], others: readonly DataKeyRow[]): boolean {
  const destroyed = (some: readonly DataKeyRow[]) => some.filter(({ wrapped }) => wrapped === null).length;
  return rows.length < others.length || destroyed(rows) < destroyed(others);
}

/** Call it when keys of the workspace change. Other isolates notice within five seconds. */
export function forgetRing(workspaceId: string): void {
  cache.forget(workspaceId);
}

/** Keys that an older ENCRYPTION_KEY wraps move to the current one. A key that is destroyed in the meantime stays destroyed. */
async function rewrapKeys(env: SealKeys, db: Database, workspaceId: string, rows: DataKeyRow[]): Promise<DataKeyRow[]> {
  return Promise.all(
    rows.map(async ({ id, wrapped }) => {
      if (wrapped === null || !(await isStale(env, wrapped))) return { id, wrapped };
      const purpose = keyPurpose(workspaceId, id);
      const fresh = await sealText(env, await unseal(env, wrapped, purpose), purpose);
      await rewrapKey(db, workspaceId, { id, wrapped }, fresh);
      return { id, wrapped: fresh };
    }),
  );
}

// Secrets of a workspace that must be read again. ENCRYPTION_KEY seals them; in a workspace that has keys the newest of these does so,
// too, and its destruction ends them.

const secretContext = (purpose: string) => ["secret", purpose];

export async function sealSecret(env: KeySource, workspaceId: string, text: string, purpose: string): Promise<string> {
  const sealed = await sealText(env, text, purpose);
  return (await loadRing(env, workspaceId)).seal(sealed, secretContext(purpose));
}

/** Throws when no key of the deployment or the workspace opens it, or it was sealed for another purpose. */
export async function openSecret(env: KeySource, workspaceId: string, held: string, purpose: string): Promise<string> {
  return unseal(env, await innerSecret(env, workspaceId, held, purpose), purpose);
}

/** What ENCRYPTION_KEY has sealed of it. */
export async function innerSecret(env: KeySource, workspaceId: string, held: string, purpose: string): Promise<string> {
  return withRing(env, workspaceId, (ring) => ring.open(held, secretContext(purpose)));
}

/** D1: destinations, their credentials sealed. */
import { and, desc, eq, inArray, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { insertBelow } from "../../db/writes.ts";
import { bulkExports, exportDestinations } from "../table.ts";
import { OPEN, type ExportRow } from "../store.ts";
import { isStale, unseal } from "../../lib/crypto.ts";
import { type KeySource, innerSecret, sealSecret } from "../../access/encryption/keys.ts";
import { logError } from "../../lib/log.ts";
import type { DestinationCredentials, OpenDestination } from "./open.ts";
import { StoreError } from "../s3/errors.ts";
import type { ObjectStore } from "../s3/store.ts";
import type { ExportDeps } from "../deps.ts";

export type DestinationRow = typeof exportDestinations.$inferSelect;

export const MAX_DESTINATIONS = 100;

/** Inserts a destination. False when the workspace has as many as it may have. */
export async function insertDestination(db: Database, row: DestinationRow): Promise<boolean> {
  const mine = eq(exportDestinations.workspaceId, row.workspaceId);
  return insertBelow(db, exportDestinations, row, mine, MAX_DESTINATIONS);
}

export async function findDestination(
  db: Database,
  workspaceId: string,
  id: string,
): Promise<DestinationRow | undefined> {
  return db
    .select()
    .from(exportDestinations)
    .where(and(eq(exportDestinations.workspaceId, workspaceId), eq(exportDestinations.id, id)))
    .get();
}

export async function listDestinations(db: Database, workspaceId: string): Promise<DestinationRow[]> {
  return db
    .select()
    .from(exportDestinations)
    .where(eq(exportDestinations.workspaceId, workspaceId))
    .orderBy(desc(exportDestinations.createdAt), desc(exportDestinations.id))
    .all();
}

/** Replaces the credentials; undefined when the destination is deleted. */
export async function updateCredentials(
  db: Database,
  row: Pick<DestinationRow, "id" | "credentials" | "credentialsKeys" | "updatedAt">,
): Promise<DestinationRow | undefined> {
  const { id, ...changed } = row;
  return db.update(exportDestinations).set(changed).where(eq(exportDestinations.id, id)).returning().get();
}

/** Replaces a ciphertext by one of the current key, unless the credentials have changed since it was read. */
export async function resealCredentials(db: Database, id: string, before: string, after: string): Promise<void> {
  await db
    .update(exportDestinations)
    .set({ credentials: after })
    .where(and(eq(exportDestinations.id, id), eq(exportDestinations.credentials, before)));
}

/** Deletes a destination that no unfinished export and no active schedule uses. False when one does. */
export async function deleteUnusedDestination(db: Database, id: string): Promise<boolean> {
  const used = db
    .select({ one: sql`1` })
    .from(bulkExports)
    .where(and(eq(bulkExports.destinationId, id), inArray(bulkExports.status, OPEN)));
  const gone = await db
    .delete(exportDestinations)
    .where(and(eq(exportDestinations.id, id), sql`NOT EXISTS ${used}`))
    .returning({ id: exportDestinations.id });
  return gone.length > 0;
}

// Credentials at rest: sealed for one destination, decrypted only when used.

const sealPurpose = (destinationId: string) => `export destination ${destinationId}`;

/** `row`: the destination. */
export async function sealCredentials(
  keys: KeySource,
  { id, workspaceId }: Pick<DestinationRow, "id" | "workspaceId">,
  credentials: DestinationCredentials,
): Promise<string> {
  return sealSecret(keys, workspaceId, JSON.stringify(credentials), sealPurpose(id));
}

/**
 * A stored destination with its credentials. A ciphertext of an older key is replaced by one of the current key.
 * @throws when no key of the deployment opens the credentials
 */
export async function openCredentials(db: Database, keys: KeySource, row: DestinationRow): Promise<OpenDestination> {
  const { id, workspaceId, type, config, credentials: held } = row;
  if (held === null) return { type, config, credentials: null };
  const sealed = await innerSecret(keys, workspaceId, held, sealPurpose(id));
  const credentials = JSON.parse(await unseal(keys, sealed, sealPurpose(id))) as DestinationCredentials;
  // The older key still opens the text, so a failed replacement waits for the next use.
  if (await isStale(keys, sealed))
    await resealCredentials(db, id, held, await sealCredentials(keys, row, credentials)).catch(logError);
  return { type, config, credentials };
}

// An export's destination, ready to be written to.

/** @throws StoreError, permanent, when the destination is deleted or its credentials cannot be read. */
export async function openDestination(
  deps: ExportDeps,
  job: ExportRow,
): Promise<{ destination: OpenDestination; store: ObjectStore }> {
  const row = await findDestination(deps.db, job.workspaceId, job.destinationId);
  if (!row) throw new StoreError("NoDestination: the destination was deleted", "NoDestination", true);
  const destination = await openCredentials(deps.db, deps.keys, row).catch(() => {
    throw new StoreError("NoCredentials: the credentials cannot be decrypted", "NoCredentials", true);
  });
  return { destination, store: deps.open(destination) };
}

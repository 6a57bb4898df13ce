/** D1: destinations, their credentials sealed. */
import { and, desc, eq, inArray, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { insertBelow } from "../../db/writes.ts";
import { bulkExports, exportDestinations } from "../table.ts";
import { OPEN } from "../status.ts";

export type DestinationRow = typeof exportDestinations.$inferSelect;

export const MOST_DESTINATIONS = 100;

/** Inserts a destination. False when the workspace has as many as it may have. */
export async function insertDestination(db: Database, row: DestinationRow): Promise<boolean> {
  const mine = eq(exportDestinations.workspaceId, row.workspaceId);
  return insertBelow(db, exportDestinations, row, mine, MOST_DESTINATIONS);
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

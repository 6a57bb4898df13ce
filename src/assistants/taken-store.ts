/**
 * The owner of an assistant's id. The address of an agent card holds the id and no workspace, so an id belongs to the
 * workspace that used it first, also after the assistant is deleted: version 0 marks a deleted assistant.
 */
import { and, eq, exists, getTableColumns, gt, ne, type SQL, sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { assistants, assistantVersions } from "../agents/assistants/table.ts";
import type { Row } from "../agents/assistants/row.ts";

const DELETED = 0;

/** A condition: the row is a version, not the mark of a deleted assistant. */
export const isVersion = (): SQL => gt(assistantVersions.version, DELETED);

/** A condition: another workspace uses this id, or has used it. */
export function isTakenElsewhere(db: Database, { workspaceId, id }: Pick<Row, "workspaceId" | "id">): SQL {
  const ofOthers = and(eq(assistantVersions.assistantId, id), ne(assistantVersions.workspaceId, workspaceId));
  return exists(
    db
      .select({ one: sql`1` })
      .from(assistantVersions)
      .where(ofOthers),
  );
}

export async function isElsewhere(db: Database, row: Pick<Row, "workspaceId" | "id">): Promise<boolean> {
  const found = await db.get<{ taken: number }>(sql`SELECT ${isTakenElsewhere(db, row)} AS taken`);
  return found.taken === 1;
}

/** The columns of an assistant's active version, in the order of the versions' table. */
export function versionColumns() {
  const { id: assistantId, workspaceId, updatedAt: _, ...columns } = getTableColumns(assistants);
  return { workspaceId, assistantId, ...columns };
}

/** The statement that keeps the ids of the assistants that are about to be deleted. */
export function markDeleted(db: Database, which: SQL | undefined) {
  return db
    .insert(assistantVersions)
    .select(
      sql`SELECT ${assistants.workspaceId}, ${assistants.id}, ${DELETED}, '', '', NULL, '{}', '{}', '{}', ${assistants.createdAt} FROM ${assistants} WHERE ${which}`,
    )
    .onConflictDoNothing();
}

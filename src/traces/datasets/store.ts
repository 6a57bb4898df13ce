import { and, asc, eq, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { datasets } from "../../db/schema.ts";

export type DatasetRow = typeof datasets.$inferSelect;

/** Inserts the dataset; undefined when its name or id is taken. */
export async function insertDataset(db: Database, row: DatasetRow): Promise<DatasetRow | undefined> {
  return db.insert(datasets).values(row).onConflictDoNothing().returning().get();
}

export async function findDataset(db: Database, workspaceId: string, id: string): Promise<DatasetRow | undefined> {
  return db
    .select()
    .from(datasets)
    .where(and(eq(datasets.workspaceId, workspaceId), eq(datasets.id, id)))
    .get();
}

export async function listDatasets(
  db: Database,
  workspaceId: string,
  {
    id,
    name,
    name_contains,
    limit,
    offset,
  }: { id?: string; name?: string; name_contains?: string; limit: number; offset: number },
): Promise<DatasetRow[]> {
  return db
    .select()
    .from(datasets)
    .where(
      and(
        eq(datasets.workspaceId, workspaceId),
        id === undefined ? undefined : eq(datasets.id, id),
        name === undefined ? undefined : eq(datasets.name, name),
        name_contains === undefined ? undefined : sql`instr(lower(${datasets.name}), lower(${name_contains})) > 0`,
      ),
    )
    .orderBy(asc(datasets.createdAt), asc(datasets.id))
    .limit(limit)
    .offset(offset)
    .all();
}

export async function deleteDataset(db: Database, workspaceId: string, id: string): Promise<boolean> {
  const gone = await db
    .delete(datasets)
    .where(and(eq(datasets.workspaceId, workspaceId), eq(datasets.id, id)))
    .returning({ id: datasets.id });
  return gone.length > 0;
}

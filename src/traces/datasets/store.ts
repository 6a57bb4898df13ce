import { and, asc, eq, sql } from "drizzle-orm";
import { inList } from "../../db/conditions.ts";
import type { Database } from "../../db/client.ts";
import { contains } from "../../db/conditions.ts";
import { datasets } from "../review/datasets/table.ts";

export type DatasetRow = typeof datasets.$inferSelect;

const isDataset = (workspaceId: string, id: string) => and(eq(datasets.workspaceId, workspaceId), eq(datasets.id, id));

/** Inserts the dataset; undefined when its name or id is taken. */
export async function insertDataset(db: Database, row: DatasetRow): Promise<DatasetRow | undefined> {
  return db.insert(datasets).values(row).onConflictDoNothing().returning().get();
}

export async function findDataset(db: Database, workspaceId: string, id: string): Promise<DatasetRow | undefined> {
  return db.select().from(datasets).where(isDataset(workspaceId, id)).get();
}

interface DatasetsWanted {
  id?: string[];
  name?: string;
  name_contains?: string;
  data_type?: string[];
  metadata?: Record<string, unknown>;
  limit: number;
  offset: number;
}

/** Oldest first. */
export async function listDatasets(db: Database, workspaceId: string, wanted: DatasetsWanted): Promise<DatasetRow[]> {
  const { id, name, name_contains, data_type, metadata } = wanted;
  return db
    .select()
    .from(datasets)
    .where(
      and(
        eq(datasets.workspaceId, workspaceId),
        id && inList(datasets.id, id),
        name === undefined ? undefined : eq(datasets.name, name),
        name_contains === undefined ? undefined : sql`instr(lower(${datasets.name}), lower(${name_contains})) > 0`,
        data_type && inList(datasets.dataType, data_type),
        metadata && contains(datasets.metadata, metadata),
      ),
    )
    .orderBy(asc(datasets.createdAt), asc(datasets.id))
    .limit(wanted.limit)
    .offset(wanted.offset)
    .all();
}

/**
 * Changes what is given; undefined leaves a column as it is.
 * @throws when another dataset has the name (see `isTaken`)
 */
export async function updateDataset(
  db: Database,
  workspaceId: string,
  id: string,
  changes: Partial<DatasetRow> & { modifiedAt: number },
): Promise<DatasetRow | undefined> {
  return db.update(datasets).set(changes).where(isDataset(workspaceId, id)).returning().get();
}

export async function deleteDataset(db: Database, workspaceId: string, id: string): Promise<void> {
  await db.delete(datasets).where(isDataset(workspaceId, id));
}

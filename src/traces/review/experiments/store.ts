/** D1: comparisons of experiments that clients created. */
import { and, desc, eq } from "drizzle-orm";
import { inList } from "../../../db/conditions.ts";
import type { Database } from "../../../db/client.ts";
import { comparativeExperiments } from "../datasets/table.ts";
import { deleteAll } from "../../../db/writes.ts";

export type ComparativeRow = typeof comparativeExperiments.$inferSelect;

const ofDataset = (workspaceId: string, datasetId: string) =>
  and(eq(comparativeExperiments.workspaceId, workspaceId), eq(comparativeExperiments.datasetId, datasetId));

/** Inserts the comparison. Undefined when its id is taken. */
export async function insertComparative(db: Database, row: ComparativeRow): Promise<ComparativeRow | undefined> {
  return db.insert(comparativeExperiments).values(row).onConflictDoNothing().returning().get();
}

/** Newest first. */
export async function listComparatives(
  db: Database,
  workspaceId: string,
  datasetId: string,
  { id, name, limit, offset }: { id?: string[]; name?: string; limit: number; offset: number },
): Promise<ComparativeRow[]> {
  return db
    .select()
    .from(comparativeExperiments)
    .where(
      and(
        ofDataset(workspaceId, datasetId),
        id && inList(comparativeExperiments.id, id),
        name === undefined ? undefined : eq(comparativeExperiments.name, name),
      ),
    )
    .orderBy(desc(comparativeExperiments.createdAt), desc(comparativeExperiments.id))
    .limit(limit)
    .offset(offset)
    .all();
}

/** Whether there was one. */
export async function deleteComparative(db: Database, workspaceId: string, id: string): Promise<boolean> {
  const which = and(eq(comparativeExperiments.workspaceId, workspaceId), eq(comparativeExperiments.id, id));
  return (await db.delete(comparativeExperiments).where(which).returning()).length > 0;
}

export async function deleteDatasetComparatives(db: Database, workspaceId: string, datasetId: string): Promise<void> {
  await deleteAll(db, comparativeExperiments, ofDataset(workspaceId, datasetId));
}

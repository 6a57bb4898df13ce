/** D1: versions of a dataset, which are the times at which its examples changed, and their names. */
import { and, desc, eq, lte } from "drizzle-orm";
import { inList } from "../../../db/conditions.ts";
import type { Database } from "../../../db/client.ts";
import { deleteAll } from "../../../db/writes.ts";
import { datasetTags, datasetVersions } from "./table.ts";

const ofVersions = (workspaceId: string, datasetId: string) =>
  and(eq(datasetVersions.workspaceId, workspaceId), eq(datasetVersions.datasetId, datasetId));
const ofTags = (workspaceId: string, datasetId: string) =>
  and(eq(datasetTags.workspaceId, workspaceId), eq(datasetTags.datasetId, datasetId));

/** The times of the versions up to a time, newest first. */
export async function listVersions(
  db: Database,
  workspaceId: string,
  datasetId: string,
  { upTo, limit, offset }: { upTo?: number; limit: number; offset: number },
): Promise<number[]> {
  const before = upTo === undefined ? undefined : lte(datasetVersions.asOf, upTo);
  const rows = await db
    .select({ asOf: datasetVersions.asOf })
    .from(datasetVersions)
    .where(and(ofVersions(workspaceId, datasetId), before))
    .orderBy(desc(datasetVersions.asOf))
    .limit(limit)
    .offset(offset)
    .all();
  return rows.map(({ asOf }) => asOf);
}

/** The names of these versions. */
export async function listTags(
  db: Database,
  workspaceId: string,
  datasetId: string,
  versions: number[],
): Promise<Map<number, string[]>> {
  if (versions.length === 0) return new Map();
  const rows = await db
    .select()
    .from(datasetTags)
    .where(and(ofTags(workspaceId, datasetId), inList(datasetTags.asOf, versions)))
    .all();
  const byVersion = Map.groupBy(rows, ({ asOf }) => asOf);
  return new Map([...byVersion].map(([asOf, group]) => [asOf, group.map(({ tag }) => tag)]));
}

/** The time of the version of this name. */
export async function findTag(db: Database, workspaceId: string, datasetId: string, tag: string) {
  const row = await db
    .select({ asOf: datasetTags.asOf })
    .from(datasetTags)
    .where(and(ofTags(workspaceId, datasetId), eq(datasetTags.tag, tag)))
    .get();
  return row?.asOf;
}

/** Gives a version a name. Another version loses it. */
export async function saveTag(db: Database, row: typeof datasetTags.$inferInsert): Promise<void> {
  const { asOf } = row;
  await db
    .insert(datasetTags)
    .values(row)
    .onConflictDoUpdate({ target: [datasetTags.workspaceId, datasetTags.datasetId, datasetTags.tag], set: { asOf } });
}

export async function deleteDatasetVersions(db: Database, workspaceId: string, datasetId: string): Promise<void> {
  await deleteAll(db, datasetTags, ofTags(workspaceId, datasetId));
  await deleteAll(db, datasetVersions, ofVersions(workspaceId, datasetId));
}

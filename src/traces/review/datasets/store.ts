/** D1: versions of a dataset, which are the times at which its examples changed, and their names. */
import { and, desc, eq, lte, asc, sql } from "drizzle-orm";
import { inList, contains } from "../../../db/conditions.ts";
import { type Database, database } from "../../../db/client.ts";
import { deleteAll } from "../../../db/writes.ts";
import { datasetTags, datasetVersions, datasets } from "./table.ts";
import { Problem } from "../../../lib/problem.ts";
import { microsFromIso } from "../../time.ts";
import type { Context } from "hono";
import type { App } from "../../../http/context.ts";
import { listProjects, type ProjectRow } from "../../projects/store.ts";

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

export type DatasetRow = typeof datasets.$inferSelect;

const isDataset = (workspaceId: string, id: string) => and(eq(datasets.workspaceId, workspaceId), eq(datasets.id, id));

/** Inserts the dataset; undefined when its name or id is taken. */
export async function insertDataset(db: Database, row: DatasetRow): Promise<DatasetRow | undefined> {
  return db.insert(datasets).values(row).onConflictDoNothing().returning().get();
}

export async function findDataset(db: Database, workspaceId: string, id: string): Promise<DatasetRow | undefined> {
  return db.select().from(datasets).where(isDataset(workspaceId, id)).get();
}

interface DatasetQuery {
  id?: string[];
  name?: string;
  name_contains?: string;
  data_type?: string[];
  metadata?: Record<string, unknown>;
  limit: number;
  offset: number;
}

/** Oldest first. */
export async function listDatasets(db: Database, workspaceId: string, wanted: DatasetQuery): Promise<DatasetRow[]> {
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

// Which time a version has that a request names.

/** The reserved name of the newest version. */
export const LATEST = "latest";

/**
 * The time that `asOf` means, milliseconds: an ISO 8601 time, or the name of a version. Undefined for the newest version.
 * @throws Problem 404 when no version has this name, 422 when a name is sent without a dataset.
 */
export async function resolveVersion(
  db: Database,
  workspaceId: string,
  datasetId: string | undefined,
  asOf: string | undefined,
): Promise<number | undefined> {
  if (asOf === undefined || asOf === LATEST) return undefined;
  const micros = microsFromIso(asOf);
  if (micros !== undefined) return Math.floor(micros / 1000);
  if (datasetId === undefined) throw new Problem(422, "Invalid query.as_of: give dataset with the name of a version.");
  const time = await findTag(db, workspaceId, datasetId, asOf);
  if (time === undefined) throw new Problem(404, "The dataset has no version of this name.");
  return time;
}

// The datasets and experiments that a request names.

/** The caller's dataset with this id. @throws Problem 404 */
export async function existingDataset(c: Context<App>, id: string): Promise<DatasetRow> {
  const row = await findDataset(database(c.env.DB), c.get("principal").workspaceId, id);
  if (!row) throw new Problem(404, "Dataset not found.");
  return row;
}

/** The experiments on a dataset with these ids, in their order. Those that were deleted are absent. */
export async function knownExperiments(c: Context<App>, datasetId: string, ids: string[]): Promise<ProjectRow[]> {
  const rows = await listProjects(database(c.env.DB), c.get("principal").workspaceId, {
    id: ids,
    reference_dataset: [datasetId],
    sort_by: "start_time",
    sort_by_desc: false,
    limit: ids.length,
    offset: 0,
  });
  return ids.flatMap((id) => rows.find((row) => row.id === id) ?? []);
}

/** The experiments on a dataset with these ids. @throws Problem 404 when one of them is not there */
export async function existingExperiments(c: Context<App>, datasetId: string, ids: string[]): Promise<ProjectRow[]> {
  const rows = await knownExperiments(c, datasetId, ids);
  if (rows.length < ids.length) throw new Problem(404, "The dataset has no experiment with one of these ids.");
  return rows;
}

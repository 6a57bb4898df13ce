import { sql, and, eq, exists, getTableColumns, gt, ne, type SQL, asc, count, desc, or } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { assistants, assistantVersions } from "./table.ts";
import {
  toAssistantId,
  defaultAssistants,
  defaultsStamp,
  isDefaultAssistant,
  defaultAssistantId,
  graphIds,
} from "./defaults.ts";
import {
  firstVersion,
  isAssistantRow,
  type AssistantRow,
  activeVersion,
  type Assistant,
  type AssistantInput,
  belongsToAssistant,
  toWireAssistant,
} from "./row.ts";
import { RowCache } from "../../lib/cache.ts";
import { contains, inList, bytesColumn, totalBytes } from "../../db/conditions.ts";
import { fewerThan } from "../../db/writes.ts";
import { limitResponse } from "../../lib/bytes.ts";
import { Problem } from "../../lib/problem.ts";

// The default assistants of each workspace in D1.

/** The workspaces whose default assistants this isolate has checked, with the checked versions. */
const ensured = new Map<string, string>();

/**
 * The assistant with this id, or the default assistant of the graph with this id. Creates missing default assistants.
 */
export async function findAssistantRow(
  db: Database,
  workspaceId: string,
  idOrGraphId: string,
): Promise<AssistantRow | undefined> {
  const id = toAssistantId(idOrGraphId);
  const find = () => db.select().from(assistants).where(isAssistantRow({ workspaceId, id })).get();
  if (!isDefaultAssistant(id)) return find();
  await ensureDefaults(db, workspaceId);
  const row = await find();
  if (row) return row;
  // It was deleted in the meantime.
  forgetDefaults(workspaceId);
  await ensureDefaults(db, workspaceId);
  return find();
}

/** Creates missing default assistants and updates those without changes by a user. Runs once per isolate. */
export async function ensureDefaults(db: Database, workspaceId: string): Promise<void> {
  const stamp = defaultsStamp();
  if (ensured.get(workspaceId) === stamp) return;
  const rows = defaultAssistants().map(({ id, metadata, ...rest }) =>
    firstVersion(workspaceId, id, { name: rest.graphId, ...rest, metadata: { ...metadata, created_by: "system" } }),
  );
  const [first, ...rest] = rows.flatMap((row) => defaultStatements(db, row));
  if (first) await db.batch([first, ...rest]);
  ensured.set(workspaceId, stamp);
}

/** Call this after the default assistants are deleted. They are created again at the next use. */
export function forgetDefaults(workspaceId: string): void {
  ensured.delete(workspaceId);
}

function defaultStatements(db: Database, row: AssistantRow) {
  const { config, context, description, metadata } = row;
  const unchanged = sql`(SELECT max(v.version) FROM assistant_versions v
    WHERE v.workspace_id = ${row.workspaceId} AND v.assistant_id = ${row.id}) = 1`;
  const set = { config, context, description, metadata };
  const ofVersion = [assistantVersions.workspaceId, assistantVersions.assistantId, assistantVersions.version];
  return [
    db
      .insert(assistants)
      .values(row)
      .onConflictDoUpdate({ target: [assistants.workspaceId, assistants.id], set, setWhere: unchanged }),
    db
      .insert(assistantVersions)
      .values(activeVersion(row))
      .onConflictDoUpdate({ target: ofVersion, set, setWhere: unchanged }),
  ];
}

// Assistants that this isolate has just read for a run. Code that changes an assistant calls
// `knownAssistants.forget()`.

export const assistantCache = new RowCache<Assistant>();

// The owner of an assistant's id. The address of an agent card holds the id and no workspace, so an id belongs to the
// workspace that used it first, also after the assistant is deleted: version 0 marks a deleted assistant.

const DELETED = 0;

/** A condition: the row is a version, not the mark of a deleted assistant. */
export const isVersion = (): SQL => gt(assistantVersions.version, DELETED);

/** A condition: another workspace uses this id, or has used it. */
export function isTakenElsewhere(db: Database, { workspaceId, id }: Pick<AssistantRow, "workspaceId" | "id">): SQL {
  const ofOthers = and(eq(assistantVersions.assistantId, id), ne(assistantVersions.workspaceId, workspaceId));
  return exists(
    db
      .select({ one: sql`1` })
      .from(assistantVersions)
      .where(ofOthers),
  );
}

export async function isElsewhere(db: Database, row: Pick<AssistantRow, "workspaceId" | "id">): Promise<boolean> {
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

export type { Assistant } from "./row.ts";

export interface AssistantFilter {
  metadata?: Record<string, unknown>;
  graphId?: string;
  name?: string;
  /** Also the default assistants, with any metadata. */
  withDefaults?: boolean;
}

const SORTS = {
  assistant_id: assistants.id,
  created_at: assistants.createdAt,
  updated_at: assistants.updatedAt,
  name: assistants.name,
  graph_id: assistants.graphId,
};

export interface AssistantSearch extends AssistantFilter {
  limit: number;
  offset: number;
  sortBy: keyof typeof SORTS;
  sortOrder: "asc" | "desc";
}

const MAX_ASSISTANTS = 10_000;

/** The assistant with this id, or the default assistant of this graph. */
export async function resolveAssistant(
  db: Database,
  workspaceId: string,
  idOrGraphId: string,
): Promise<Assistant | undefined> {
  const row = await findAssistantRow(db, workspaceId, idOrGraphId);
  return row && toWireAssistant(row);
}

/**
 * `resolveAssistant` for a run: an isolate reads an assistant at most every five seconds. A run sees an update at once in
 * the isolate that made it, and within five seconds everywhere.
 */
export async function assistantToRun(
  db: Database,
  workspaceId: string,
  idOrGraphId: string,
): Promise<Assistant | undefined> {
  return assistantCache.get(`${workspaceId} ${idOrGraphId}`, () => resolveAssistant(db, workspaceId, idOrGraphId));
}

/**
 * The assistant with this id in any workspace, for the public agent card. Undefined when several workspaces
 * have used the id.
 */
export async function findAnywhere(db: Database, id: string): Promise<Assistant | undefined> {
  const rows = await db.select().from(assistants).where(eq(assistants.id, id)).limit(2).all();
  const [row, another] = rows;
  if (!row || another || (await isElsewhere(db, row))) return undefined;
  return toWireAssistant(row);
}

/**
 * Creates an assistant at version 1. Undefined when the id is taken: by one of the workspace, or permanently by another
 * workspace, because the address of an agent card holds the id alone.
 */
export async function createAssistant(
  db: Database,
  workspaceId: string,
  id: string,
  input: AssistantInput & { graphId: string },
): Promise<Assistant | undefined> {
  // A default assistant that was deleted is not free to be made by a client.
  if (isDefaultAssistant(id) && (await findAssistantRow(db, workspaceId, id))) return undefined;
  await ensureDefaults(db, workspaceId);
  const row = firstVersion(workspaceId, id, input);
  if (await insertFirst(db, row)) return toWireAssistant(row);
  if ((await countAssistants(db, workspaceId, {})) >= MAX_ASSISTANTS && !(await findAssistantRow(db, workspaceId, id)))
    throw new Problem(409, `A workspace has at most ${MAX_ASSISTANTS} assistants. Delete one first.`);
  return undefined;
}

/**
 * Deletes the assistant and all its versions; false when there was none. The next use of a default assistant makes
 * it again.
 */
export async function deleteAssistant(db: Database, workspaceId: string, id: string): Promise<boolean> {
  const [, gone] = await db.batch([
    markDeleted(db, isAssistantRow({ workspaceId, id })),
    db.delete(assistants).where(isAssistantRow({ workspaceId, id })).returning({ id: assistants.id }),
    db.delete(assistantVersions).where(and(belongsToAssistant({ workspaceId, id }), isVersion())),
  ]);
  assistantCache.forget();
  return gone.length > 0;
}

/** Deletes every assistant of the workspace; the default ones are created again. */
export async function deleteAllAssistants(db: Database, workspaceId: string): Promise<void> {
  await db.batch([
    markDeleted(db, eq(assistants.workspaceId, workspaceId)),
    db.delete(assistants).where(eq(assistants.workspaceId, workspaceId)),
    db.delete(assistantVersions).where(and(eq(assistantVersions.workspaceId, workspaceId), isVersion())),
  ]);
  forgetDefaults(workspaceId);
  assistantCache.forget();
}

/** Assistants by filter. Reads one more than `limit`, for paging. */
export async function searchAssistants(
  db: Database,
  workspaceId: string,
  search: AssistantSearch,
): Promise<Assistant[]> {
  await ensureDefaults(db, workspaceId);
  const direction = search.sortOrder === "asc" ? asc : desc;
  const where = whereAssistants(workspaceId, search);
  const order = [direction(SORTS[search.sortBy]), direction(sql`rowid`)];
  const limit = search.limit + 1;
  await limitResponse(limit, () => {
    const bytes = bytesColumn(assistants.config, assistants.context, assistants.metadata);
    return totalBytes(
      db,
      db
        .select({ bytes })
        .from(assistants)
        .where(where)
        .orderBy(...order)
        .limit(limit)
        .offset(search.offset),
    );
  });
  const page = db
    .select()
    .from(assistants)
    .where(where)
    .orderBy(...order);
  return (await page.limit(limit).offset(search.offset).all()).map(toWireAssistant);
}

export async function countAssistants(db: Database, workspaceId: string, filter: AssistantFilter): Promise<number> {
  await ensureDefaults(db, workspaceId);
  const row = await db.select({ n: count() }).from(assistants).where(whereAssistants(workspaceId, filter)).get();
  return row?.n ?? 0;
}

function whereAssistants(
  workspaceId: string,
  { metadata = {}, graphId, name, withDefaults }: AssistantFilter,
): SQL | undefined {
  return and(
    eq(assistants.workspaceId, workspaceId),
    graphId === undefined ? undefined : eq(assistants.graphId, graphId),
    name === undefined ? undefined : sql`instr(lower(${assistants.name}), lower(${name})) > 0`,
    withDefaults
      ? or(inList(assistants.id, graphIds().map(defaultAssistantId)), contains(assistants.metadata, metadata))
      : contains(assistants.metadata, metadata),
  );
}

/** Inserts an assistant and its first version in one transaction; false when the id is taken. */
async function insertFirst(db: Database, row: AssistantRow): Promise<boolean> {
  const { workspaceId, id, version, graphId, name, description, createdAt, updatedAt } = row;
  const [config, context, metadata] = [row.config, row.context, row.metadata].map((one) => JSON.stringify(one));
  const [inserted] = await db.batch([
    db
      .insert(assistants)
      .select(
        sql`SELECT ${workspaceId}, ${id}, ${version}, ${graphId}, ${name}, ${description}, ${config}, ${context}, ${metadata}, ${createdAt}, ${updatedAt} WHERE NOT ${isTakenElsewhere(db, row)} AND ${fewerThan(assistants, eq(assistants.workspaceId, workspaceId), MAX_ASSISTANTS)}`,
      )
      .onConflictDoNothing()
      .returning({ id: assistants.id }),
    db
      .insert(assistantVersions)
      .select(db.select(versionColumns()).from(assistants).where(isAssistantRow(row)))
      .onConflictDoNothing(),
  ]);
  return inserted.length > 0;
}

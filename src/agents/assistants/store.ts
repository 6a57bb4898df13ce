import { and, asc, count, desc, eq, or, sql, type SQL } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { contains } from "../../db/conditions.ts";
import { assistants, assistantVersions } from "./table.ts";
import { crons } from "../../automation/crons/table.ts";
import { inList } from "../../db/conditions.ts";
import { fewerThan } from "../../db/writes.ts";
import { bytesColumn, totalBytes } from "../../db/conditions.ts";
import { boundAnswer } from "../../lib/bytes.ts";
import { Problem } from "../../lib/problem.ts";
import { ensureDefaults, findRow, forgetDefaults } from "../../assistants/default-store.ts";
import { defaultAssistantId, graphIds, isDefaultAssistant } from "./defaults.ts";
import { assistantCache } from "../../assistants/cache.ts";
import {
  type Assistant,
  type AssistantInput,
  firstVersion,
  isRow,
  belongsToAssistant,
  type Row,
  toWire,
} from "./row.ts";
import { isTakenElsewhere, isElsewhere, isVersion, markDeleted, versionColumns } from "../../assistants/taken-store.ts";

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

const MOST_ASSISTANTS = 10_000;

/** The assistant with this id, or the default assistant of this graph. */
export async function resolveAssistant(
  db: Database,
  workspaceId: string,
  idOrGraphId: string,
): Promise<Assistant | undefined> {
  const row = await findRow(db, workspaceId, idOrGraphId);
  return row && toWire(row);
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
 * The assistant with this id in any workspace, for the public agent card. Undefined when the id was
 * used in several workspaces, which only assistants from before `createAssistant` refused that can be.
 */
export async function findAnywhere(db: Database, id: string): Promise<Assistant | undefined> {
  const rows = await db.select().from(assistants).where(eq(assistants.id, id)).limit(2).all();
  const [row, another] = rows;
  if (!row || another || (await isElsewhere(db, row))) return undefined;
  return toWire(row);
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
  if (isDefaultAssistant(id) && (await findRow(db, workspaceId, id))) return undefined;
  await ensureDefaults(db, workspaceId);
  const row = firstVersion(workspaceId, id, input);
  if (await insertFirst(db, row)) return toWire(row);
  if ((await countAssistants(db, workspaceId, {})) >= MOST_ASSISTANTS && !(await findRow(db, workspaceId, id)))
    throw new Problem(409, `A workspace has at most ${MOST_ASSISTANTS} assistants. Delete one first.`);
  return undefined;
}

/**
 * Deletes the assistant and all its versions; false when there was none. The next use of a default assistant makes
 * it again.
 */
export async function deleteAssistant(db: Database, workspaceId: string, id: string): Promise<boolean> {
  const [, gone] = await db.batch([
    markDeleted(db, isRow({ workspaceId, id })),
    db.delete(assistants).where(isRow({ workspaceId, id })).returning({ id: assistants.id }),
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
  await boundAnswer(limit, () => {
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
  return (await page.limit(limit).offset(search.offset).all()).map(toWire);
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
async function insertFirst(db: Database, row: Row): Promise<boolean> {
  const { workspaceId, id, version, graphId, name, description, createdAt, updatedAt } = row;
  const [config, context, metadata] = [row.config, row.context, row.metadata].map((one) => JSON.stringify(one));
  const [inserted] = await db.batch([
    db
      .insert(assistants)
      .select(
        sql`SELECT ${workspaceId}, ${id}, ${version}, ${graphId}, ${name}, ${description}, ${config}, ${context}, ${metadata}, ${createdAt}, ${updatedAt} WHERE NOT ${isTakenElsewhere(db, row)} AND ${fewerThan(assistants, eq(assistants.workspaceId, workspaceId), MOST_ASSISTANTS)}`,
      )
      .onConflictDoNothing()
      .returning({ id: assistants.id }),
    db
      .insert(assistantVersions)
      .select(db.select(versionColumns()).from(assistants).where(isRow(row)))
      .onConflictDoNothing(),
  ]);
  return inserted.length > 0;
}

export async function deleteAssistantCrons(db: Database, workspaceId: string, assistantId: string): Promise<void> {
  await db.delete(crons).where(and(eq(crons.workspaceId, workspaceId), eq(crons.assistantId, assistantId)));
}

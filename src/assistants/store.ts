import { and, asc, count, desc, eq, max, sql, type SQL } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { contains } from "../db/contains.ts";
import { assistants, assistantVersions } from "../db/schema.ts";
import { assistantIdOf, defaultAssistants, defaultsStamp, isDefaultAssistant } from "./defaults.ts";

type Row = typeof assistants.$inferSelect;
type VersionRow = typeof assistantVersions.$inferSelect;
type Json = Record<string, unknown>;

/** An assistant as it stands on the wire. */
export interface Assistant {
  assistant_id: string;
  graph_id: string;
  version: number;
  name: string;
  description: string | null;
  config: Json;
  context: Json;
  metadata: Json;
  created_at: string;
  updated_at: string;
}
export type AssistantVersion = Omit<Assistant, "updated_at">;

/** What the caller supplies; what is absent is left to the default, or to the version before. */
export interface AssistantInput {
  graphId?: string;
  name?: string;
  description?: string | null;
  config?: Json;
  context?: Json;
  metadata?: Json;
}

export interface AssistantFilter {
  metadata?: Json;
  graphId?: string;
  name?: string;
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

/** Workspaces whose default assistants this isolate has made sure of, and as what. */
const ensured = new Map<string, string>();

/** The assistant with this id, or the default assistant of this graph. */
export async function resolveAssistant(
  db: Database,
  workspaceId: string,
  idOrGraphId: string,
): Promise<Assistant | undefined> {
  const row = await findRow(db, workspaceId, assistantIdOf(idOrGraphId));
  return row && shown(row);
}

/** The first assistant made with this id, whatever its workspace: for what anybody may read, an agent card. */
export async function findAnywhere(db: Database, id: string): Promise<Assistant | undefined> {
  const row = await db.select().from(assistants).where(eq(assistants.id, id)).orderBy(asc(assistants.createdAt)).get();
  return row && shown(row);
}

/** Creates an assistant at version 1; undefined when the id is taken. */
export async function createAssistant(
  db: Database,
  workspaceId: string,
  id: string,
  input: AssistantInput & { graphId: string },
): Promise<Assistant | undefined> {
  await ensureDefaults(db, workspaceId);
  const row = firstVersion(workspaceId, id, input);
  return (await insertFirst(db, row)) ? shown(row) : undefined;
}

/**
 * Makes and activates the next version. A configuration (`config`, `context`) replaces the one before as a whole;
 * when neither is supplied, it stays. Metadata is merged key by key. Undefined when there is no such assistant.
 */
export async function updateAssistant(
  db: Database,
  workspaceId: string,
  idOrGraphId: string,
  input: AssistantInput,
): Promise<Assistant | undefined> {
  for (let attempt = 0; ; attempt++) {
    const row = await findRow(db, workspaceId, assistantIdOf(idOrGraphId));
    if (!row) return undefined;
    const next = nextVersion(row, await highestVersion(db, row), input);
    try {
      const { workspaceId: _, id: __, ...active } = next;
      await db.batch([
        db.insert(assistantVersions).values(versionOf(next)),
        db
          .update(assistants)
          .set({ ...active, createdAt: row.createdAt })
          .where(isRow(row)),
      ]);
      return shown({ ...next, createdAt: row.createdAt });
    } catch (error) {
      // Another update took this version number: read again what it left.
      if (attempt === 20 || !/UNIQUE constraint/.test(String((error as Error).cause ?? error))) throw error;
    }
  }
}

/** Makes `version` the active one; undefined when the assistant or the version does not exist. */
export async function activateVersion(
  db: Database,
  workspaceId: string,
  idOrGraphId: string,
  version: number,
): Promise<Assistant | undefined> {
  const row = await findRow(db, workspaceId, assistantIdOf(idOrGraphId));
  if (!row) return undefined;
  const found = await db
    .select()
    .from(assistantVersions)
    .where(and(isVersionOf(row), eq(assistantVersions.version, version)))
    .get();
  if (!found) return undefined;
  const { workspaceId: _, assistantId: __, createdAt: ___, ...configuration } = found;
  const active = await db
    .update(assistants)
    .set({ ...configuration, updatedAt: Date.now() })
    .where(isRow(row))
    .returning()
    .get();
  return active && shown(active);
}

/** Deletes the assistant and all its versions; false when there was none. A default assistant comes back, as new, when used. */
export async function deleteAssistant(db: Database, workspaceId: string, id: string): Promise<boolean> {
  const [gone] = await db.batch([
    db
      .delete(assistants)
      .where(and(eq(assistants.workspaceId, workspaceId), eq(assistants.id, id)))
      .returning({ id: assistants.id }),
    db
      .delete(assistantVersions)
      .where(and(eq(assistantVersions.workspaceId, workspaceId), eq(assistantVersions.assistantId, id))),
  ]);
  return gone.length > 0;
}

/** Deletes every assistant of the workspace; the default ones come back, as new. */
export async function deleteAllAssistants(db: Database, workspaceId: string): Promise<void> {
  await db.batch([
    db.delete(assistants).where(eq(assistants.workspaceId, workspaceId)),
    db.delete(assistantVersions).where(eq(assistantVersions.workspaceId, workspaceId)),
  ]);
  ensured.delete(workspaceId);
}

/** Versions, newest first; undefined when there is no such assistant. Asks for one more than `limit`, for paging. */
export async function listVersions(
  db: Database,
  workspaceId: string,
  idOrGraphId: string,
  { metadata = {}, limit, offset }: { metadata?: Json; limit: number; offset: number },
): Promise<AssistantVersion[] | undefined> {
  const row = await findRow(db, workspaceId, assistantIdOf(idOrGraphId));
  if (!row) return undefined;
  const rows = await db
    .select()
    .from(assistantVersions)
    .where(and(isVersionOf(row), contains(assistantVersions.metadata, metadata)))
    .orderBy(desc(assistantVersions.version))
    .limit(limit + 1)
    .offset(offset)
    .all();
  return rows.map(shownVersion);
}

/** Assistants by filter. Asks for one more than `limit`, for paging. */
export async function searchAssistants(
  db: Database,
  workspaceId: string,
  search: AssistantSearch,
): Promise<Assistant[]> {
  await ensureDefaults(db, workspaceId);
  const order = search.sortOrder === "asc" ? asc : desc;
  const rows = await db
    .select()
    .from(assistants)
    .where(matching(workspaceId, search))
    .orderBy(order(SORTS[search.sortBy]), order(sql`rowid`))
    .limit(search.limit + 1)
    .offset(search.offset)
    .all();
  return rows.map(shown);
}

export async function countAssistants(db: Database, workspaceId: string, filter: AssistantFilter): Promise<number> {
  await ensureDefaults(db, workspaceId);
  const row = await db.select({ n: count() }).from(assistants).where(matching(workspaceId, filter)).get();
  return row?.n ?? 0;
}

function matching(workspaceId: string, { metadata = {}, graphId, name }: AssistantFilter): SQL | undefined {
  return and(
    eq(assistants.workspaceId, workspaceId),
    graphId === undefined ? undefined : eq(assistants.graphId, graphId),
    name === undefined ? undefined : sql`instr(lower(${assistants.name}), lower(${name})) > 0`,
    contains(assistants.metadata, metadata),
  );
}

async function findRow(db: Database, workspaceId: string, id: string): Promise<Row | undefined> {
  const find = () => db.select().from(assistants).where(isRow({ workspaceId, id })).get();
  if (!isDefaultAssistant(id)) return find();
  await ensureDefaults(db, workspaceId);
  const row = await find();
  if (row) return row;
  // It was deleted since.
  ensured.delete(workspaceId);
  await ensureDefaults(db, workspaceId);
  return find();
}

/** Writes the default assistants that the workspace lacks, and brings those up to date that nobody has changed; once an isolate. */
async function ensureDefaults(db: Database, workspaceId: string): Promise<void> {
  const stamp = defaultsStamp();
  if (ensured.get(workspaceId) === stamp) return;
  const rows = defaultAssistants().map(({ id, graphId, config, context }) =>
    firstVersion(workspaceId, id, { graphId, name: graphId, config, context, metadata: { created_by: "system" } }),
  );
  const [first, ...rest] = rows.flatMap((row) => defaultStatements(db, row));
  if (first) await db.batch([first, ...rest]);
  ensured.set(workspaceId, stamp);
}

function defaultStatements(db: Database, row: Row) {
  const { config, context } = row;
  const unchanged = sql`(SELECT max(v.version) FROM assistant_versions v
    WHERE v.workspace_id = ${row.workspaceId} AND v.assistant_id = ${row.id}) = 1`;
  const set = { config, context };
  const ofVersion = [assistantVersions.workspaceId, assistantVersions.assistantId, assistantVersions.version];
  return [
    db
      .insert(assistants)
      .values(row)
      .onConflictDoUpdate({ target: [assistants.workspaceId, assistants.id], set, setWhere: unchanged }),
    db
      .insert(assistantVersions)
      .values(versionOf(row))
      .onConflictDoUpdate({ target: ofVersion, set, setWhere: unchanged }),
  ];
}

/** Inserts an assistant and its first version in one transaction; false when the id is taken. */
async function insertFirst(db: Database, row: Row): Promise<boolean> {
  const [inserted] = await db.batch([
    db.insert(assistants).values(row).onConflictDoNothing().returning({ id: assistants.id }),
    db.insert(assistantVersions).values(versionOf(row)).onConflictDoNothing(),
  ]);
  return inserted.length > 0;
}

function firstVersion(workspaceId: string, id: string, input: AssistantInput & { graphId: string }): Row {
  const now = Date.now();
  const { graphId, name = "Untitled", description = null, config = {}, context = {}, metadata = {} } = input;
  return {
    workspaceId,
    id,
    version: 1,
    graphId,
    name,
    description,
    config,
    context,
    metadata,
    createdAt: now,
    updatedAt: now,
  };
}

function nextVersion(row: Row, highest: number, input: AssistantInput): Row {
  const { graphId, name, description, config, context, metadata } = input;
  const configured = config !== undefined || context !== undefined;
  const now = Date.now();
  return {
    ...row,
    version: highest + 1,
    graphId: graphId ?? row.graphId,
    name: name ?? row.name,
    description: description === undefined ? row.description : description,
    config: configured ? (config ?? {}) : row.config,
    context: configured ? (context ?? {}) : row.context,
    metadata: { ...row.metadata, ...metadata },
    createdAt: now,
    updatedAt: now,
  };
}

async function highestVersion(db: Database, row: Row): Promise<number> {
  const found = await db
    .select({ n: max(assistantVersions.version) })
    .from(assistantVersions)
    .where(isVersionOf(row))
    .get();
  return found?.n ?? row.version;
}

function versionOf(row: Row): VersionRow {
  const { id, updatedAt: _, ...version } = row;
  return { ...version, assistantId: id };
}

function isRow({ workspaceId, id }: Pick<Row, "workspaceId" | "id">): SQL | undefined {
  return and(eq(assistants.workspaceId, workspaceId), eq(assistants.id, id));
}

function isVersionOf({ workspaceId, id }: Row): SQL | undefined {
  return and(eq(assistantVersions.workspaceId, workspaceId), eq(assistantVersions.assistantId, id));
}

function shown(row: Row): Assistant {
  return { ...shownVersion({ ...row, assistantId: row.id }), updated_at: new Date(row.updatedAt).toISOString() };
}

function shownVersion(row: VersionRow): AssistantVersion {
  const { assistantId, graphId, version, name, description, config, context, metadata, createdAt } = row;
  return {
    assistant_id: assistantId,
    graph_id: graphId,
    version,
    name,
    description,
    config,
    context,
    metadata,
    created_at: new Date(createdAt).toISOString(),
  };
}

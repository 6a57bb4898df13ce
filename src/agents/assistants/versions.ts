/** Versions of assistants in D1. */
import { and, desc, eq, getTableColumns, max, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { contains, bytesColumn, totalBytes } from "../../db/conditions.ts";
import { assistants, assistantVersions } from "./table.ts";
import { CHANGED, isTaken, nextTime, untilUnchanged } from "../../db/writes.ts";
import { limitResponse, METADATA_BYTES, withinBytes } from "../../lib/bytes.ts";
import { findAssistantRow, isVersion, assistantCache } from "./store.ts";
import { toAssistantId } from "./defaults.ts";
import {
  type Assistant,
  type AssistantInput,
  type AssistantVersion,
  isAssistantRow,
  belongsToAssistant,
  ownMetadata,
  type AssistantRow,
  toWireAssistant,
  toWireAssistantVersion,
} from "./row.ts";

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
  const id = toAssistantId(idOrGraphId);
  return untilUnchanged(async () => {
    // Read before the row: an update in between takes this number, and this one begins again with what it left.
    const highest = await highestVersion(db, { workspaceId, id });
    const row = await findAssistantRow(db, workspaceId, id);
    if (!row) return undefined;
    try {
      return (await makeActive(db, row, nextVersion(row, highest, input))) ?? CHANGED;
    } catch (error) {
      if (isTaken(error)) return CHANGED;
      throw error;
    }
  });
}

/** Makes the version and activates it, both or neither; neither when the assistant is no longer as it was read. */
async function makeActive(db: Database, read: AssistantRow, next: AssistantRow): Promise<Assistant | undefined> {
  const { workspaceId: _, id: __, createdAt, ...active } = next;
  // In the order of the versions' columns.
  const { workspaceId, id: assistantId, updatedAt: ___, ...columns } = getTableColumns(assistants);
  const version = { workspaceId, assistantId, ...columns, createdAt: sql<number>`${createdAt}`.as("created_at") };
  const [[row]] = await db.batch([
    db
      .update(assistants)
      .set(active)
      .where(and(isAssistantRow(read), eq(assistants.updatedAt, read.updatedAt)))
      .returning(),
    db.insert(assistantVersions).select(
      db
        .select(version)
        .from(assistants)
        .where(and(isAssistantRow(next), eq(assistants.version, next.version))),
    ),
  ]);
  assistantCache.forget();
  return row && toWireAssistant(row);
}

/** Makes `version` the active one; undefined when the assistant or the version does not exist. */
export async function activateVersion(
  db: Database,
  workspaceId: string,
  idOrGraphId: string,
  version: number,
): Promise<Assistant | undefined> {
  const row = await findAssistantRow(db, workspaceId, idOrGraphId);
  if (!row) return undefined;
  const found = await db
    .select()
    .from(assistantVersions)
    .where(and(belongsToAssistant(row), eq(assistantVersions.version, version)))
    .get();
  if (!found) return undefined;
  const { workspaceId: _, assistantId: __, createdAt: ___, ...configuration } = found;
  const active = await db
    .update(assistants)
    .set({ ...configuration, updatedAt: sql`max(${Date.now()}, ${assistants.updatedAt} + 1)` })
    .where(isAssistantRow(row))
    .returning()
    .get();
  assistantCache.forget();
  return active && toWireAssistant(active);
}

/** Versions, newest first; undefined when there is no such assistant. Reads one more than `limit`, for paging. */
export async function listVersions(
  db: Database,
  workspaceId: string,
  idOrGraphId: string,
  { metadata = {}, limit, offset }: { metadata?: Record<string, unknown>; limit: number; offset: number },
): Promise<AssistantVersion[] | undefined> {
  const row = await findAssistantRow(db, workspaceId, idOrGraphId);
  if (!row) return undefined;
  const where = and(belongsToAssistant(row), isVersion(), contains(assistantVersions.metadata, metadata));
  const order = desc(assistantVersions.version);
  await limitResponse(limit + 1, () => {
    const bytes = bytesColumn(assistantVersions.config, assistantVersions.context, assistantVersions.metadata);
    const page = db.select({ bytes }).from(assistantVersions).where(where).orderBy(order);
    return totalBytes(db, page.limit(limit + 1).offset(offset));
  });
  const page = db.select().from(assistantVersions).where(where).orderBy(order);
  const rows = await page
    .limit(limit + 1)
    .offset(offset)
    .all();
  return rows.map(toWireAssistantVersion);
}

function nextVersion(row: AssistantRow, highest: number, input: AssistantInput): AssistantRow {
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
    metadata: withinBytes(
      ownMetadata(row.id, { ...row.metadata, ...metadata }),
      METADATA_BYTES,
      "metadata, joined with the stored one,",
    ),
    createdAt: now,
    updatedAt: nextTime(row.updatedAt),
  };
}

async function highestVersion(db: Database, row: Pick<AssistantRow, "workspaceId" | "id">): Promise<number> {
  const found = await db
    .select({ n: max(assistantVersions.version) })
    .from(assistantVersions)
    .where(belongsToAssistant(row))
    .get();
  return found?.n ?? 0;
}

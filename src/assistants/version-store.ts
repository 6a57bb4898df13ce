/** Versions of assistants in D1. */
import { and, desc, eq, max } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { contains } from "../db/contains.ts";
import { assistants, assistantVersions } from "../db/schema.ts";
import { findRow } from "./default-store.ts";
import {
  type Assistant,
  type AssistantInput,
  type AssistantVersion,
  isRow,
  isVersionOf,
  type Row,
  shown,
  shownVersion,
  versionOf,
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
  for (let attempt = 0; ; attempt++) {
    const row = await findRow(db, workspaceId, idOrGraphId);
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
  const row = await findRow(db, workspaceId, idOrGraphId);
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

/** Versions, newest first; undefined when there is no such assistant. Asks for one more than `limit`, for paging. */
export async function listVersions(
  db: Database,
  workspaceId: string,
  idOrGraphId: string,
  { metadata = {}, limit, offset }: { metadata?: Record<string, unknown>; limit: number; offset: number },
): Promise<AssistantVersion[] | undefined> {
  const row = await findRow(db, workspaceId, idOrGraphId);
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

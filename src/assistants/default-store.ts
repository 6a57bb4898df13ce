/** The default assistants of each workspace in D1. */
import { sql } from "drizzle-orm";
import type { Database } from "../db/client.ts";
import { assistants, assistantVersions } from "../agents/assistants/table.ts";
import { toAssistantId, defaultAssistants, defaultsStamp, isDefaultAssistant } from "../agents/assistants/defaults.ts";
import { firstVersion, isRow, type Row, activeVersion } from "../agents/assistants/row.ts";

/** The workspaces whose default assistants this isolate has checked, with the checked versions. */
const ensured = new Map<string, string>();

/**
 * The assistant with this id, or the default assistant of the graph with this id. Creates missing default assistants.
 */
export async function findRow(db: Database, workspaceId: string, idOrGraphId: string): Promise<Row | undefined> {
  const id = toAssistantId(idOrGraphId);
  const find = () => db.select().from(assistants).where(isRow({ workspaceId, id })).get();
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

function defaultStatements(db: Database, row: Row) {
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

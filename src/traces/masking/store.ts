/** D1: the masking rules of a workspace, in its settings. */
import { eq, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { workspaces } from "../../access/table.ts";
import type { MaskRule } from "./schema.ts";

/** Undefined when the workspace has never had rules. */
export async function readRules(db: Database, workspaceId: string): Promise<MaskRule[] | undefined> {
  const row = await db
    .select({ settings: workspaces.settings })
    .from(workspaces)
    .where(eq(workspaces.id, workspaceId))
    .get();
  return row?.settings.masking as MaskRule[] | undefined;
}

/** Replaces the rules; other settings stay. False when there is no such workspace. */
export async function writeRules(db: Database, workspaceId: string, rules: MaskRule[]): Promise<boolean> {
  const settings = sql`json_set(${workspaces.settings}, '$.masking', json(${JSON.stringify(rules)}))`;
  const changed = await db
    .update(workspaces)
    .set({ settings })
    .where(eq(workspaces.id, workspaceId))
    .returning({ id: workspaces.id });
  return changed.length > 0;
}

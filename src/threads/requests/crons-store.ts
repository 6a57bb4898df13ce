/** D1: the crons on threads that are deleted. */
import { and, eq, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { crons } from "../../automation/crons/table.ts";

/** Deletes the crons on threads that are deleted. */
export async function deleteCronsOn(db: Database, workspaceId: string, threadIds: string[]): Promise<void> {
  const gone = sql`${crons.threadId} IN (SELECT value FROM json_each(${JSON.stringify(threadIds)}))`;
  await db.delete(crons).where(and(eq(crons.workspaceId, workspaceId), gone));
}

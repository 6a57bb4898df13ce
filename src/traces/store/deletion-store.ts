/** D1: the traces that were deleted. */
import { and, desc, eq, gte, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { traceDeletions } from "../projects/table.ts";

/** Notes that these traces were deleted. Traces that are noted already keep their time. */
export async function noteDeletions(
  db: Database,
  workspaceId: string,
  projectId: string,
  traceIds: string[],
): Promise<void> {
  await db.run(
    sql`INSERT INTO ${traceDeletions} (workspace_id, project_id, trace_id, deleted_at)
        SELECT ${workspaceId}, ${projectId}, value, ${Date.now()} FROM json_each(${JSON.stringify(traceIds)}) WHERE true
        ON CONFLICT DO NOTHING`,
  );
}

/** The ids of at most 10,000 traces of a project that were deleted at or after `since`, milliseconds, newest first. */
export async function recentDeletions(
  db: Database,
  workspaceId: string,
  projectId: string,
  since: number,
): Promise<string[]> {
  const { workspaceId: workspace, projectId: project, traceId, deletedAt } = traceDeletions;
  const rows = await db
    .select({ traceId })
    .from(traceDeletions)
    .where(and(eq(workspace, workspaceId), eq(project, projectId), gte(deletedAt, since)))
    .orderBy(desc(deletedAt))
    .limit(10_000)
    .all();
  return rows.map((row) => row.traceId);
}

/** D1: the traces that were deleted while a window lasted. Files of earlier windows can still have them. */
import { and, asc, eq, gte, lt, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { exportRuns } from "../table.ts";
import { traceDeletions } from "../../traces/projects/table.ts";
import type { ExportRow } from "../store.ts";

/** Rows per query. */
const PAGE = 1000;

/**
 * The traces of a scheduled export's projects that were deleted in its window, by project and id. The windows of a schedule tile
 * the time, so each deletion is in one of them. None for any other export.
 */
export async function* readDeletions(db: Database, job: ExportRow) {
  if (job.sourceExportId === null || job.endTime === null) return;
  const { workspaceId, projectId, traceId, deletedAt } = traceDeletions;
  const ofExport = db.select({ id: exportRuns.projectId }).from(exportRuns).where(eq(exportRuns.exportId, job.id));
  let after = { projectId: "", traceId: "" };
  for (;;) {
    const rows = await db
      .select({ projectId, traceId, deletedAt })
      .from(traceDeletions)
      .where(
        and(
          eq(workspaceId, job.workspaceId),
          sql`${projectId} IN ${ofExport}`,
          gte(deletedAt, job.startTime / 1000),
          lt(deletedAt, job.endTime / 1000),
          sql`(${projectId}, ${traceId}) > (${after.projectId}, ${after.traceId})`,
        ),
      )
      .orderBy(asc(projectId), asc(traceId))
      .limit(PAGE)
      .all();
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) return;
    after = last;
  }
}

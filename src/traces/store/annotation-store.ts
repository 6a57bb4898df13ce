/** D1: the items of annotation queues that end with what they are about. */
import { and, eq, sql } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { deleteAll } from "../../db/writes.ts";
import { inList } from "../../db/conditions.ts";
import { annotationItems, annotationReviews } from "../review/queues/table.ts";

/** Deletes the items of traces that are deleted; of all traces and threads of the project without a list. */
export async function removeTraceItems(
  db: Database,
  workspaceId: string,
  projectId: string,
  traceIds?: string[],
): Promise<void> {
  const which = and(
    eq(annotationItems.workspaceId, workspaceId),
    eq(annotationItems.projectId, projectId),
    traceIds && inList(annotationItems.traceId, traceIds),
  );
  const ids = db.select({ id: annotationItems.id }).from(annotationItems).where(which);
  await deleteAll(db, annotationReviews, sql`${annotationReviews.itemId} IN (${ids})`);
  await deleteAll(db, annotationItems, which);
}

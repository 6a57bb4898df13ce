/** The sizes of traces in D1. */
import { and, asc, eq, gte, lte } from "drizzle-orm";
import { inList } from "../../db/conditions.ts";
import type { Database } from "../../db/client.ts";
import { projects, tracePartitions } from "../projects/table.ts";

/** The trace runs and bytes of each project and day of a window, oldest first. */
export async function usageByDay(db: Database, workspaceId: string, first: string, last: string) {
  const { day, projectId: project_id, rows: runs, bytes } = tracePartitions;
  return db
    .select({ day, project_id, runs, bytes })
    .from(tracePartitions)
    .where(and(eq(tracePartitions.workspaceId, workspaceId), gte(day, first), lte(day, last)))
    .orderBy(asc(day), asc(project_id))
    .all();
}

export async function projectNames(db: Database, workspaceId: string, ids: string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .select({ id: projects.id, name: projects.name })
    .from(projects)
    .where(and(eq(projects.workspaceId, workspaceId), inList(projects.id, ids)))
    .all();
  return new Map(rows.map(({ id, name }) => [id, name]));
}

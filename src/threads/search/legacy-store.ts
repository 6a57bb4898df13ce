/** The thread index in D1, as versions before 0.2 wrote it. Read once a workspace. */
import { and, asc, eq, getTableColumns, gt } from "drizzle-orm";
import type { Database } from "../../db/client.ts";
import { threads } from "../../db/schema.ts";
import type { IndexRow } from "./rpc.ts";

/** Rows in the order of their ids, after `after`. */
export async function threadsBefore(
  db: Database,
  workspaceId: string,
  after: string,
  limit: number,
): Promise<IndexRow[]> {
  const where = and(eq(threads.workspaceId, workspaceId), gt(threads.id, after));
  const { workspaceId: _workspaceId, ...columns } = getTableColumns(threads);
  const rows = await db.select(columns).from(threads).where(where).orderBy(asc(threads.id)).limit(limit).all();
  return rows.map((row) => ({ ...row, open: row.status === "busy" }));
}

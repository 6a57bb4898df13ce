/** Takes a workspace's thread index over from D1, where versions before 0.2 kept it. */
import { database } from "../../db/client.ts";
import { threadsBefore } from "./legacy-store.ts";
import type { IndexTables } from "./tables.ts";

const PAGE = 100;

/** Resolves when all rows are in `tables`. It may be repeated: a row that is newer there stays. */
export async function importThreads(env: Env, workspaceId: string, tables: IndexTables): Promise<void> {
  for (let after = "", more = true; more;) {
    const rows = await threadsBefore(database(env.DB), workspaceId, after, PAGE);
    if (rows.length > 0) tables.put(rows);
    after = rows.at(-1)?.id ?? after;
    more = rows.length === PAGE;
  }
  // A workspace without threads is imported again at the next wake, until its index has a row.
  if (tables.made) tables.setMeta("imported", 1);
}

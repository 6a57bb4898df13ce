/** Deletes threads of a workspace, found by the index. */
import { database } from "../db/client.ts";
import { type Json, threadStub } from "./rpc.ts";
import { searchThreads } from "./store.ts";

const PAGE = 100;

/** Deletes the threads whose metadata contain `metadata`; all of them when none is given. */
export async function deleteThreads(env: Env, workspaceId: string, metadata?: Json): Promise<void> {
  const page = { metadata, limit: PAGE, offset: 0, sortBy: "thread_id", sortOrder: "asc" } as const;
  for (let more = true; more;) {
    const rows = await searchThreads(database(env.DB), workspaceId, page);
    const gone = await Promise.all(rows.map(({ id }) => threadStub(env, workspaceId, id).remove()));
    // Rows without a thread come again with every page: a page of nothing else ends it.
    more = rows.length > PAGE && gone.some(Boolean);
  }
}

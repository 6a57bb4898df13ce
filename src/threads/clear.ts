/** Deletes threads of a workspace, found by the index. */
import { type Json, threadStub } from "./rpc.ts";
import { searchThreads } from "./store.ts";

const PAGE = 100;

/** Deletes the threads whose metadata contain `metadata`; all of them when none is given. */
export async function deleteThreads(env: Env, workspaceId: string, metadata?: Json): Promise<void> {
  // Index rows without a thread stay, and are passed over.
  let offset = 0;
  for (let more = true; more;) {
    const page = { metadata, limit: PAGE, offset, sortBy: "thread_id", sortOrder: "asc" } as const;
    const rows = await searchThreads(env, workspaceId, page);
    const gone = await Promise.all(rows.map(({ id }) => threadStub(env, workspaceId, id).remove()));
    offset += gone.filter((one) => !one).length;
    more = rows.length > PAGE;
  }
}

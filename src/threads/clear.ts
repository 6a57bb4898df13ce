/** Deletes threads of a workspace, found by the index. */
import type { Principal } from "../auth/principal.ts";
import { mayDelete } from "../users/authorize.ts";
import { threadMetadata } from "./access.ts";
import { type Json, threadStub } from "./rpc.ts";
import { searchThreads } from "./store.ts";

const PAGE = 100;

/** Deletes those threads of the assistant that the principal may delete. */
export async function deleteThreadsOf(env: Env, principal: Principal, assistant_id: string): Promise<void> {
  const { workspaceId } = principal;
  await deleteThreads(env, workspaceId, { assistant_id }, async (id) => {
    // The index may be behind the thread.
    const metadata = await threadMetadata(env, workspaceId, id);
    return metadata !== undefined && mayDelete(principal, id, metadata);
  });
}

/** Deletes the threads whose metadata contain `metadata` (all of them when none is given) and of which `may` holds. */
export async function deleteThreads(
  env: Env,
  workspaceId: string,
  metadata?: Json,
  may: (id: string) => Promise<boolean> = async () => true,
): Promise<void> {
  // Index rows without a thread stay, as those of threads that may not be deleted, and are passed over.
  let offset = 0;
  for (let more = true; more;) {
    const page = { metadata, limit: PAGE, offset, sortBy: "thread_id", sortOrder: "asc" } as const;
    const rows = await searchThreads(env, workspaceId, page);
    const gone = await Promise.all(
      rows.map(async ({ id }) => (await may(id)) && threadStub(env, workspaceId, id).remove()),
    );
    offset += gone.filter((one) => !one).length;
    more = rows.length > PAGE;
  }
}

/** The threads of a workspace that have an open run, by the index. */
import { searchThreads } from "./store.ts";

const PAGE = 500;

/** Their ids. */
export async function busyThreads(env: Env, workspaceId: string): Promise<string[]> {
  const ids: string[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = {
      status: "busy" as const,
      limit: PAGE,
      offset,
      sortBy: "thread_id" as const,
      sortOrder: "asc" as const,
    };
    const rows = await searchThreads(env, workspaceId, page);
    ids.push(...rows.slice(0, PAGE).map((row) => row.id));
    if (rows.length <= PAGE) return ids;
  }
}

/** Tasks that a user of the deployment's own Auth may find: those on threads whose metadata pass the Auth's filter. */
import type { Database } from "../db/client.ts";
import { threadIds } from "../threads/search/store.ts";
import { listTasks, type TaskCursor, type TaskFilter, type TaskRow } from "../protocols/a2a/store.ts";

type Metadata = Record<string, unknown>;

/** Tasks that are read at once. */
const PAGE = 200;

/** The tasks of the filter, newest status first, from `cursor` on, whose threads have `metadata`. */
export async function* visibleTasks(
  env: Env,
  db: Database,
  filter: TaskFilter,
  metadata: Metadata,
  cursor?: TaskCursor,
): AsyncGenerator<TaskRow, void, void> {
  for (let from = cursor; ;) {
    const rows = await listTasks(db, filter, PAGE, from);
    const page = rows.slice(0, PAGE);
    const ids = [...new Set(page.map(({ threadId }) => threadId))];
    const found = await threadIds(env, filter.workspaceId, { ids, metadata, limit: PAGE, offset: 0 });
    const visible = new Set(found.map(({ id }) => id));
    yield* page.filter(({ threadId }) => visible.has(threadId));
    from = page.at(-1);
    if (rows.length <= PAGE || !from) return;
  }
}

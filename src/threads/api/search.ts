/**
 * Thread search: the index answers. The selected fields of states that are too large for the index are read from their
 * threads.
 */
import { selectFields } from "../../http/shapes.ts";
import { extractPaths } from "../requests/extract.ts";
import { forEach } from "../requests/fan-out.ts";
import type { Json } from "../../lib/json.ts";
import { threadStub } from "../stub.ts";
import type { IndexRow, ThreadFilter, ThreadPage } from "../search/rpc.ts";
import { searchThreads } from "../search/store.ts";

/** Characters of JSON of all states of one answer that are read from the threads themselves: an isolate has 128 MB. */
const STATES_LIMIT = 24_000_000;

interface Request extends ThreadFilter {
  limit: number;
  offset: number;
  sort_by: ThreadPage["sortBy"];
  sort_order: ThreadPage["sortOrder"];
  select?: readonly string[];
  /** Paths by the name that what they lead to gets. */
  extract?: Record<string, string>;
}

/** Threads on the wire, one more than `limit` when more exist. */
export async function findThreads(env: Env, workspaceId: string, request: Request): Promise<Json[]> {
  const { select, extract, sort_by: sortBy, sort_order: sortOrder, ...rest } = request;
  const rows = await searchThreads(env, workspaceId, { ...rest, sortBy, sortOrder });
  const paths = Object.values(extract ?? {});
  const needsValues = (select?.includes("values") ?? true) || paths.some((path) => path.startsWith("values"));
  const left = needsValues ? rows.filter(isLeftOut).length : 0;
  const threads = await forEach(rows, async (row) => {
    if (!needsValues || !isLeftOut(row)) return toWire(row);
    const thread = await threadStub(env, workspaceId, row.id).get(STATES_LIMIT / left);
    return { ...toWire(row), values: thread?.values ?? null };
  });
  return threads.map((thread) => ({
    ...selectFields(thread, select),
    ...(extract && { extracted: extractPaths(thread, extract) }),
  }));
}

/** Whether the thread has a state that its index row is too short for. */
const isLeftOut = (row: IndexRow): boolean => row.values === null && row.hasValues;

function toWire(row: IndexRow): Json {
  return {
    thread_id: row.id,
    created_at: new Date(row.createdAt).toISOString(),
    updated_at: new Date(row.updatedAt).toISOString(),
    state_updated_at: new Date(row.stateUpdatedAt).toISOString(),
    metadata: row.metadata,
    config: row.config,
    status: row.status,
    values: row.values,
    interrupts: row.interrupts,
    ...(row.error && { error: row.error }),
  };
}

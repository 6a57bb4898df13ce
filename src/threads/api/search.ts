/**
 * Thread search: the index answers. The selected fields of states that are too large for the index are read from their
 * threads.
 */
import * as v from "valibot";
import type { Json } from "../../lib/json.ts";
import { selectFields } from "../../http/shapes.ts";
import { forEach } from "../limits.ts";
import { threadStub } from "../remote.ts";
import type { IndexRow, ThreadFilter, ThreadPage } from "../search/rpc.ts";
import { searchThreads } from "../search/store.ts";
import { WorkBudget } from "../../lib/work-budget.ts";

// Single values out of a thread or a state, by path: a client that needs one message does not load them all.

/** Named paths such as `{first: "values.messages[0].content"}`. `roots`: the members at which a path may start. */
export const pathsFrom = (roots: readonly string[]) =>
  v.pipe(
    v.record(
      v.string(),
      v.pipe(
        v.string(),
        v.regex(
          new RegExp(`^(${roots.join("|")})(\\.[\\w-]+|\\[-?\\d+\\])*$`),
          `must start at ${roots.slice(0, -1).join(", ")} or ${roots.at(-1)}, as in values.messages[-1]`,
        ),
      ),
    ),
    v.check((paths) => Object.keys(paths).length <= 10, "at most 10 paths"),
  );

export const extractBudget = (): WorkBudget =>
  new WorkBudget("What the paths lead to", "Extract fewer or longer paths.");

/** The value at each path, by its name; null where there is none. @throws Problem 422 past the budget of the request */
export function extractPaths(from: Json, paths: Record<string, string>, budget: WorkBudget): Json {
  return Object.fromEntries(
    Object.entries(paths).map(([name, path]) => {
      const value = readPath(from, path);
      countJson(value, budget);
      return [name, value];
    }),
  );
}

/** Counts the value as JSON before it is written: several paths may lead to one long value. */
function countJson(value: unknown, budget: WorkBudget): void {
  if (typeof value === "string") return budget.write(value.length + 2);
  if (typeof value !== "object" || value === null) return budget.write(8);
  for (const [name, member] of Object.entries(value)) {
    budget.write(name.length + 4);
    countJson(member, budget);
  }
}

function readPath(from: Json, path: string): unknown {
  let value: unknown = from;
  for (const [, name, index] of path.matchAll(/([\w-]+)|\[(-?\d+)\]/g)) {
    if (typeof value !== "object" || value === null) return null;
    if (name === undefined) value = Array.isArray(value) ? (value as unknown[]).at(Number(index)) : undefined;
    else value = Object.hasOwn(value, name) ? (value as Json)[name] : undefined;
  }
  return value ?? null;
}

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
  const budget = extractBudget();
  return threads.map((thread) => ({
    ...selectFields(thread, select),
    ...(extract && { extracted: extractPaths(thread, extract, budget) }),
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

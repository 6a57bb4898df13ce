/** Which threads of a workspace cannot continue on the graphs of another bundle. */
import { listCronThreads } from "../../automation/crons/store.ts";
import { database } from "../../db/client.ts";
import { isKeyDestroyed } from "../../access/encryption/ring.ts";
import { type Break, describeBreak, findBreaks } from "../../agents/graphs/continuity.ts";
import { forEach } from "../../threads/limits.ts";
import { threadIds } from "../../threads/search/store.ts";
import { threadStub } from "../../threads/remote.ts";
import type { ParkedThread } from "../../threads/types.ts";
import { describeGraphs, keepShapes, shapeReader } from "../../deploys/graphs.ts";
import type { CheckGraphs, CheckPage, GraphsToCheck } from "./schema.ts";

/**
 * A page of the threads that are interrupted, have an open run or belong to a cron, in the order of their ids; those of crons are
 * on the first page. Keeps the shapes of the deployed graphs, with which a later check compares the kinds of channels.
 */
export async function checkThreads(env: Env, workspaceId: string, request: CheckGraphs): Promise<CheckPage> {
  const { limit, after } = request;
  const deployed = after === undefined || !request.graphs ? await describeGraphs(env) : {};
  if (after === undefined) await keepShapes(env.BLOBS, deployed);
  const graphs = request.graphs ?? deployed;
  const rows = await threadIds(env, workspaceId, { unfinished: true, after, limit, offset: 0 });
  const ids = rows.slice(0, limit).map(({ id }) => id);
  const crons = after === undefined ? await listCronThreads(database(env.DB), workspaceId) : [];
  const page: CheckPage = { counts: {}, threads: [], next: rows.length > limit ? (ids.at(-1) ?? null) : null };
  const readShape = shapeReader(env.BLOBS);
  await forEach([...new Set([...ids, ...crons])], async (id) => {
    const parked = await parkedThread(env, workspaceId, id);
    if (parked) recordCheck(page, id, parked, await compare(parked, graphs, readShape));
  });
  page.threads.sort((a, b) => (a.thread_id < b.thread_id ? -1 : 1));
  return page;
}

/** Where the thread stands; undefined when it has no graph yet, or its key is destroyed: then no version of a graph continues it. */
async function parkedThread(env: Env, workspaceId: string, id: string): Promise<ParkedThread | undefined> {
  try {
    return await threadStub(env, workspaceId, id).parked();
  } catch (error) {
    if (isKeyDestroyed(error)) return undefined;
    throw error;
  }
}

/** What is missing; `migrated` where a migration takes the state, `unknown` where the graph's shape is not known. */
async function compare(
  { graph_id, places }: ParkedThread,
  graphs: GraphsToCheck,
  readShape: ReturnType<typeof shapeReader>,
): Promise<Break[] | "migrated" | "unknown"> {
  const graph = Object.hasOwn(graphs, graph_id) ? graphs[graph_id] : undefined;
  if (!graph) return [{ kind: "graph", name: graph_id, path: [] }];
  const { shape, migrates } = graph;
  if (!shape) return "unknown";
  const [root] = places;
  if (root && migrates.some((from) => from === root.fingerprint || from === root.version)) return "migrated";
  const before = await readShape(root?.fingerprint);
  return places.flatMap((place) => findBreaks(place, shape, before));
}

function recordCheck(
  page: CheckPage,
  id: string,
  { graph_id }: ParkedThread,
  found: Awaited<ReturnType<typeof compare>>,
): void {
  const count = (page.counts[graph_id] ??= { checked: 0, cannot_continue: 0, migrated: 0, unknown: 0 });
  count.checked += 1;
  if (typeof found === "string") count[found] += 1;
  else if (found.length > 0) {
    count.cannot_continue += 1;
    page.threads.push({ thread_id: id, graph_id, reasons: found.map(describeBreak), breaks: found });
  }
}

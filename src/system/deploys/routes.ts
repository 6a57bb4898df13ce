/** Which threads of a workspace cannot continue on the graphs of another bundle. */
import { graphs } from "../../deployment.ts";
import { makeGraph } from "../../agents/graphs/graph.ts";
import {
  loadMigrations,
  loadVersion,
  type Incompatibility,
  describeIncompatibility,
  findIncompatibilities,
} from "../../agents/graphs/compatibility.ts";
import { DescribedGraph, CheckGraphs, CheckPage, type GraphsToCheck } from "./schema.ts";
import { describeShape, fingerprint, type GraphShape } from "../../runtime/introspect.ts";
import { listCronThreads } from "../../automation/crons/store.ts";
import { database } from "../../db/client.ts";
import { isKeyDestroyed } from "../../access/encryption/ring.ts";
import { forEach } from "../../threads/limits.ts";
import { threadIds } from "../../threads/search/store.ts";
import { threadStub } from "../../threads/remote.ts";
import type { WaitingThread } from "../../threads/types.ts";
import * as v from "valibot";
import { Hono } from "hono";
import { createDoc } from "../../http/route.ts";
import type { App } from "../../http/context.ts";
import { body } from "../../http/validate.ts";

// The graphs of this deployment, as another deployment is compared with them.

export async function describeGraphs(env: Env): Promise<Record<string, DescribedGraph>> {
  const ids = Object.keys(graphs).sort();
  return Object.fromEntries(await Promise.all(ids.map(async (id) => [id, await describeGraph(id, env)] as const)));
}

async function describeGraph(id: string, env: Env): Promise<DescribedGraph> {
  try {
    const graph = await makeGraph(id, { configurable: {} }, env, "assistants.read");
    if (!graph) throw new Error(`Graph "${id}" is not deployed here.`);
    const migrates = (await loadMigrations(id)).map(({ from }) => from);
    const version = (await loadVersion(id)) ?? null;
    return { shape: describeShape(graph), fingerprint: fingerprint(graph), version, migrates };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { shape: null, fingerprint: null, version: null, migrates: [], error: reason };
  }
}

const shapeKey = (print: string): string => `graph-shapes/${print}.json`;

/** Keeps the shapes of the graphs by their fingerprints, which checkpoints name. */
export async function keepShapes(bucket: R2Bucket, described: Record<string, DescribedGraph>): Promise<void> {
  for (const { shape, fingerprint: print } of Object.values(described))
    if (print !== null && !(await bucket.head(shapeKey(print))))
      await bucket.put(shapeKey(print), JSON.stringify(shape));
}

/** A function that gives the shape of a fingerprint, where it was kept. Each is read once. */
export function shapeReader(bucket: R2Bucket): (print: string | undefined) => Promise<GraphShape | undefined> {
  const read = new Map<string, Promise<GraphShape | undefined>>();
  return async (print) => {
    if (print === undefined) return undefined;
    const found = read.get(print) ?? bucket.get(shapeKey(print)).then((kept) => kept?.json<GraphShape>());
    read.set(print, found);
    return found;
  };
}

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
    const waiting = await readWaitingThread(env, workspaceId, id);
    if (waiting) recordCheck(page, id, waiting, await compare(waiting, graphs, readShape));
  });
  page.threads.sort((a, b) => (a.thread_id < b.thread_id ? -1 : 1));
  return page;
}

/** Where the thread stands; undefined when it has no graph yet, or its key is destroyed: then no version of a graph continues it. */
async function readWaitingThread(env: Env, workspaceId: string, id: string): Promise<WaitingThread | undefined> {
  try {
    return await threadStub(env, workspaceId, id).waitingThread();
  } catch (error) {
    if (isKeyDestroyed(error)) return undefined;
    throw error;
  }
}

/** What is missing; `migrated` where a migration takes the state, `unknown` where the graph's shape is not known. */
async function compare(
  { graph_id, places }: WaitingThread,
  graphs: GraphsToCheck,
  readShape: ReturnType<typeof shapeReader>,
): Promise<Incompatibility[] | "migrated" | "unknown"> {
  const graph = Object.hasOwn(graphs, graph_id) ? graphs[graph_id] : undefined;
  if (!graph) return [{ kind: "graph", name: graph_id, path: [] }];
  const { shape, migrates } = graph;
  if (!shape) return "unknown";
  const [root] = places;
  if (root && migrates.some((from) => from === root.fingerprint || from === root.version)) return "migrated";
  const before = await readShape(root?.fingerprint);
  return places.flatMap((place) => findIncompatibilities(place, shape, before));
}

function recordCheck(
  page: CheckPage,
  id: string,
  { graph_id }: WaitingThread,
  found: Awaited<ReturnType<typeof compare>>,
): void {
  const count = (page.counts[graph_id] ??= { checked: 0, cannot_continue: 0, migrated: 0, unknown: 0 });
  count.checked += 1;
  if (typeof found === "string") count[found] += 1;
  else if (found.length > 0) {
    count.cannot_continue += 1;
    page.threads.push({ thread_id: id, graph_id, reasons: found.map(describeIncompatibility), breaks: found });
  }
}

// `/graphs`: the deployed graphs, and whether the threads of a workspace continue on those of another bundle.

const doc = createDoc("Deploys");

const Graphs = v.object({ graphs: v.record(v.string(), DescribedGraph) });

export const deploys = new Hono<App>()
  .get("/", doc("The deployed graphs: their shapes, fingerprints and migrations", Graphs), async (c) =>
    c.json({ graphs: await describeGraphs(c.env) }),
  )
  .post(
    "/check",
    doc("Which threads cannot continue on other graphs, a page", CheckPage),
    body(CheckGraphs),
    async (c) => c.json(await checkThreads(c.env, c.get("principal").workspaceId, c.req.valid("json"))),
  );

/** The graphs of this deployment, as another deployment is compared with them. */
import { graphs } from "../deployment.ts";
import { makeGraph } from "../agents/graphs/graph.ts";
import { loadMigrations, loadVersion } from "../agents/graphs/continuity.ts";
import type { DescribedGraph } from "../system/deploys/schema.ts";
import { describeShape, fingerprint, type GraphShape } from "../runtime/introspect.ts";

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

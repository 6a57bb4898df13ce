/** Before a run, after a deploy: the state that another version of the graph left is migrated, or the run is refused. */
import { type Break, describeBreak, findBreaks } from "../../agents/graphs/continuity.ts";
import { isFactory } from "../../agents/graphs/graph.ts";
import { findMigration, loadVersion } from "../../agents/graphs/continuity.ts";
import { remoteProblem } from "../../lib/problem.ts";
import type { AnyGraph as Graph } from "../../runtime/introspect.ts";
import { Saver } from "../../runtime/saver.ts";
import { describeShape, fingerprint } from "../../runtime/introspect.ts";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import type { ThreadContext } from "../context.ts";
import type { RunRequest } from "../rpc.ts";
import type { CheckpointAddress } from "../types.ts";
import { buildConfig, loadGraph } from "../state/graph.ts";
import { migrateState } from "../state/migrate.ts";
import { readParked } from "./parked.ts";

/** The source of a checkpoint that a migration wrote. */
const MIGRATION = "migration";

/** Whether the request continues what waits at its checkpoint, instead of giving a new input. */
export const isContinuing = ({ input, command }: Pick<RunRequest, "input" | "command">): boolean =>
  input == null || command != null;

/**
 * Whether the address is that of the latest checkpoint. Some clients (`useStream`) name the checkpoint that they show with each request: one
 * that names the latest is as one that names none.
 */
export function namesLatest(
  checkpoints: Checkpoints,
  { checkpoint_ns = "", checkpoint_id }: CheckpointAddress = {},
): boolean {
  return checkpoint_ns === "" && (checkpoint_id == null || checkpoint_id === checkpoints.get("")?.id);
}

interface Place {
  checkpoints: Checkpoints;
  threadId: string;
  graphId: string;
  /** Of the root graph; the latest when absent. */
  checkpointId?: string;
}

/** What the graph lacks of what is held and waited for at a checkpoint that another version of it wrote. */
async function breaksAt(graph: Graph, { checkpoints, checkpointId }: Omit<Place, "graphId">): Promise<Break[]> {
  const from = checkpoints.get("", checkpointId);
  if (!from || from.metadata.graph_fingerprint === fingerprint(graph)) return [];
  const parked = await readParked(checkpoints, checkpointId);
  return parked.flatMap((one) => findBreaks(one, describeShape(graph)));
}

/** The nodes of the root graph that wait at a checkpoint and that the graph no longer has. */
export async function goneNodes(graph: Graph, place: Omit<Place, "graphId">): Promise<string[]> {
  const breaks = await breaksAt(graph, place);
  return breaks.filter(({ kind, path }) => kind === "node" && path.length === 0).map(({ name }) => name);
}

/**
 * What the graph lacks to continue from a checkpoint, as a sentence; undefined when it lacks nothing. A state that a migration
 * covers lacks nothing.
 */
export async function missingTo(graph: Graph, place: Place): Promise<string | undefined> {
  const { checkpoints, graphId, checkpointId } = place;
  const breaks = await breaksAt(graph, place);
  if (breaks.length === 0) return undefined;
  const left = readNames(checkpoints.get("")?.metadata ?? {});
  if (checkpointId === undefined && (await findMigration(graphId, left))) return undefined;
  return `The deployed graph "${graphId}" cannot continue this thread: ${breaks.map(describeBreak).join(", ")}.`;
}

/**
 * Migrates the latest state where the graph's module has a migration for it. It is applied once: the new checkpoint has the
 * fingerprint of this graph.
 */
export async function migrateOnce(graph: Graph, { checkpoints, threadId, graphId }: Place): Promise<void> {
  const from = checkpoints.get("");
  if (!from || from.metadata.graph_fingerprint === fingerprint(graph)) return;
  const migration = await findMigration(graphId, readNames(from.metadata));
  if (!migration) return;
  // With its run's id, so that the attempt which began it still takes the state for its own.
  const { run_id, assistant_id } = from.metadata;
  const writer = { ...(await describeWriter(graph, graphId)), thread_id: threadId, assistant_id, run_id };
  const saver = new Saver(checkpoints, threadId, writer);
  await migrateState(graph, saver, threadId, migration);
}

/**
 * 409 when the request continues from what the deployed graph cannot continue from. A graph that cannot be made fails the run,
 * which names the cause. Behind a run in flight the state is not known yet: that run's end decides.
 */
export async function refuseBroken(
  context: ThreadContext,
  { busy }: { busy: boolean },
  request: RunRequest,
): Promise<void> {
  const { record, checkpoints, threadId, env } = context;
  if (busy || !record || !isContinuing(request) || context.run(request.run_id) || !checkpoints.get("")) return;
  // A factory may take long: what it makes is compared when the run has begun.
  if (await isFactory(request.graph_id)) return;
  const run = { id: request.run_id, request, outcome: { updated: 0, attempt: 0 } };
  const config = buildConfig({ run, thread: record });
  const graph = await loadGraph(request.graph_id, config, env, "threads.create_run").catch(() => undefined);
  const isLatest = namesLatest(checkpoints, request.checkpoint);
  const checkpointId = isLatest ? undefined : (request.checkpoint?.checkpoint_id ?? undefined);
  const place = { checkpoints, threadId, graphId: request.graph_id, checkpointId };
  const missing = graph && (await missingTo(graph, place));
  if (missing) throw remoteProblem(409, `${missing} Its state is kept. Migrate it, or run from an earlier checkpoint.`);
}

/** Whether a migration wrote the latest state and no task has run since. Its questions then have their old ids. */
export const isMigrated = (checkpoints: Checkpoints): boolean =>
  (checkpoints.get("")?.metadata.source as string | undefined) === MIGRATION &&
  Object.keys(checkpoints.questions()).length === 0;

/** What checkpoints say of the graph that writes them. */
export async function describeWriter(graph: Graph, graphId: string) {
  const version = await loadVersion(graphId);
  return {
    graph_id: graphId,
    graph_fingerprint: fingerprint(graph),
    ...(version !== undefined && { graph_version: version }),
  };
}

function readNames({ graph_fingerprint, graph_version }: Record<string, unknown>) {
  return {
    ...(typeof graph_fingerprint === "string" && { fingerprint: graph_fingerprint }),
    ...(typeof graph_version === "string" && { version: graph_version }),
  };
}

/** Writes the checkpoint that a migration makes of the state that an earlier version of the graph left. */
import { Send } from "@langchain/langgraph";
import { maxChannelVersion, TASKS, uuid6 } from "@langchain/langgraph-checkpoint";
import { DeltaSnapshot, type CheckpointEntry, isStateKey } from "../checkpoints/checkpoint.ts";
import * as v from "valibot";
import { budgetInterrupt } from "../interrupts/budget.ts";
import {
  JOIN,
  TO_NODE,
  type Migration,
  NewState,
  type NextNode,
  type WaitingState,
  type Incompatibility,
  describeIncompatibility,
  findIncompatibilities,
  findMigration,
  loadVersion,
} from "../../agents/graphs/compatibility.ts";
import { isObject } from "../../lib/json.ts";
import { type AnyGraph as Graph, fingerprint, describeShape } from "../../runtime/introspect.ts";
import { isOutput, Saver } from "../../runtime/saver.ts";
import { readSnapshot } from "../../runtime/state.ts";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import type { ThreadContext } from "../context.ts";
import type { WaitingThread, CheckpointAddress } from "../types.ts";
import { isFactory } from "../../agents/graphs/graph.ts";
import { remoteProblem } from "../../lib/problem.ts";
import type { RunRequest } from "../rpc.ts";
import { buildConfig, graphAt, graphIdAt, loadGraph } from "./graph.ts";
import { isReplayed, nodesIn } from "./replayed.ts";

/** Holds the input of a graph until its first step. In a function, until it has ended. */
const INPUT = "__start__";
/** The whole state of a graph whose state has no keys. */
const WHOLE = "__root__";
/** The channel of a node that waits until the others have ended. */
const DEFERRED = "LastValueAfterFinish";
/** The channels whose stored form is their value. */
const PLAIN = ["LastValue", "BinaryOperatorAggregate", "EphemeralValue"];

type StoredState = NonNullable<Awaited<ReturnType<Saver["getTuple"]>>>;

/**
 * Applies a migration to the latest checkpoint of the root graph: its result is a new checkpoint of source `migration`. The
 * current step ends with it: what its ended tasks wrote is kept, and its other tasks begin again. Throws where the
 * migration throws, or names what the graph does not have.
 */
export async function migrateState(graph: Graph, saver: Saver, threadId: string, migration: Migration): Promise<void> {
  const stored = await saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
  if (!stored) return;
  const old = await readOldState(graph, saver, threadId, stored);
  const given = v.parse(NewState, await migration.migrate(structuredClone(old)));
  const values = given.values ?? old.values;
  const next = given.next ?? old.next.filter((node) => nameIn(node) in graph.nodes);
  checkNew(graph, given);
  // A function has no other channel that starts it.
  const restarts = !given.next || given.next.some((node) => !(`${TO_NODE}${nameIn(node)}` in graph.channels));
  await saver.put(stored.config, checkpointFrom(graph, saver, stored, { values, next, restarts }), {
    source: "migration" as "update",
    step: (stored.metadata?.step ?? 0) + 1,
    parents: {},
    migrated_from: stored.metadata,
    graph_fingerprint: fingerprint(graph),
  } as never);
  saver.check();
}

async function readOldState(graph: Graph, saver: Saver, threadId: string, stored: StoredState) {
  const { checkpoint, pendingWrites = [] } = stored;
  const known = await readSnapshot(graph, saver, { threadId });
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(checkpoint.channel_values)) if (isStateKey(name)) values[name] = value;
  for (const [, channel, value] of pendingWrites)
    if (isStateKey(channel) && !(channel in graph.channels)) values[channel] = value;
  if (WHOLE in graph.channels) values[WHOLE] = known.values;
  else Object.assign(values, isObject(known.values) ? known.values : {});
  const waiting = Object.keys(checkpoint.channel_values)
    .filter((name) => name.startsWith(TO_NODE))
    .map(nodeIn);
  const gone = waiting.filter((node) => !(node in graph.nodes));
  const begun = pendingWrites.flatMap(([, channel]) =>
    channel.startsWith(TO_NODE) && !isDeferred(graph.channels[channel]) ? [nodeIn(channel)] : [],
  );
  const sends = [
    checkpoint.channel_values[TASKS],
    ...pendingWrites.filter(([, channel]) => channel === TASKS).map(([, , sent]) => sent),
  ];
  const pulled = known.tasks.filter(({ path }) => path?.[0] === "__pregel_pull").map(({ name }) => name);
  const next: NextNode[] = [
    ...new Set([...known.next.filter((name) => pulled.includes(name)), ...gone, ...begun]),
    ...sends
      .flat()
      .filter(isObject)
      .map(({ node, args }) => ({ node: String(node), input: args })),
  ];
  const interrupts = pendingWrites
    .flatMap(([, channel, value]) => (channel === "__interrupt__" ? [value] : []))
    .flat()
    .filter((interrupt) => !isObject(interrupt) || !budgetInterrupt(interrupt));
  return {
    values,
    next,
    questions: interrupts.map((interrupt) => (isObject(interrupt) ? interrupt.value : interrupt)),
  };
}

/** Throws where the result names a node or a key that the graph does not have. */
function checkNew(graph: Graph, { values = {}, next = [] }: NewState): void {
  const nodes = next.map(nameIn).filter((name) => !(name in graph.nodes));
  const keys = Object.keys(values).filter((name) => !(name in graph.channels) || !isStateKey(name));
  const [wrong] = [...nodes.map((name) => `node "${name}"`), ...keys.map((name) => `key "${name}"`)];
  if (wrong) throw new Error(`The migration returns the ${wrong}, which the graph does not have.`);
}

function checkpointFrom(
  graph: Graph,
  saver: Saver,
  { checkpoint, pendingWrites = [], metadata }: StoredState,
  { values, next, restarts }: { values: Record<string, unknown>; next: NextNode[]; restarts: boolean },
) {
  const version = saver.getNextVersion(maxChannelVersion(...Object.values(checkpoint.channel_versions)) as number);
  const channel_values: Record<string, unknown> = {};
  for (const [name, channel] of Object.entries(graph.channels as Record<string, Channel>)) {
    const before = checkpoint.channel_values[name];
    const arrived = pendingWrites.flatMap(([, written, value]) => (written === name ? [value] : []));
    if (name.startsWith(JOIN) || isDeferred(channel)) channel_values[name] = reduceChannel(channel, before, arrived);
    else if (name.startsWith(TO_NODE) || (name === INPUT && !restarts)) continue;
    else if (!isStateKey(name)) channel_values[name] = before;
    else if (!(name in values)) continue;
    else if (channel.lc_graph_name === "DeltaChannel") channel_values[name] = new DeltaSnapshot(values[name]);
    else if (PLAIN.includes(channel.lc_graph_name ?? "")) channel_values[name] = values[name];
    else channel_values[name] = reduceChannel(channel, undefined, [values[name]]);
  }
  for (const node of next) {
    const start = `${TO_NODE}${nameIn(node)}`;
    const channel: Channel | undefined = graph.channels[start];
    if (typeof node === "string" && channel) channel_values[start] = isDeferred(channel) ? [null, true] : null;
  }
  const sends = next.flatMap((node) => (typeof node === "string" ? [] : [new Send(node.node, node.input)]));
  channel_values[TASKS] = sends;
  const kept = Object.entries(channel_values).filter(([, value]) => value !== undefined);
  return {
    ...checkpoint,
    id: uuid6((metadata?.step ?? 0) + 1),
    ts: new Date().toISOString(),
    channel_values: Object.fromEntries(kept),
    channel_versions: Object.fromEntries(kept.map(([name]) => [name, version])),
  };
}

interface Channel {
  lc_graph_name?: string;
  fromCheckpoint(stored: unknown): Channel & { update(values: unknown[]): boolean; checkpoint(): unknown };
}

/** What a channel stores that has `before`, and to which `arrived` came. */
function reduceChannel(channel: Channel, before: unknown, arrived: unknown[]): unknown {
  const restored = channel.fromCheckpoint(before);
  if (arrived.length > 0) restored.update(arrived);
  return restored.checkpoint();
}

const isDeferred = (channel?: Channel): boolean => channel?.lc_graph_name === DEFERRED;
const nodeIn = (channel: string): string => channel.slice(TO_NODE.length);
const nameIn = (node: NextNode): string => (typeof node === "string" ? node : node.node);

// Where the thread stands in its graph, as what another version of the graph must have to continue.

/** LangGraph renames the channels of checkpoints below this version itself. */
const RENAMED_BELOW = 3;

/** Where the thread stands; undefined when it has no graph yet. */
export async function waitingThread(context: ThreadContext): Promise<WaitingThread | undefined> {
  const { checkpoints } = context;
  const graph_id = graphIdAt(context, checkpoints.get(""));
  if (graph_id === undefined) return undefined;
  // A factory may take long, and the graph may be gone already.
  const graph = (await isFactory(graph_id)) ? undefined : await graphAt(context, "threads.read").catch(() => undefined);
  return { graph_id, places: await readWaitingStates(checkpoints, graph) };
}

/**
 * The places from which a run continues: at `checkpointId`, else at the latest checkpoint with the nested graphs at work. `graph`: what is
 * deployed, if anything is.
 */
async function readWaitingStates(
  checkpoints: Checkpoints,
  graph: Graph | undefined,
  checkpointId?: string,
): Promise<WaitingState[]> {
  const entries = checkpointId === undefined ? checkpoints.live() : [checkpoints.get("", checkpointId)];
  const places = entries
    .filter((entry) => entry !== undefined)
    .map(async (entry) =>
      (await hasEnded(entry, checkpoints)) ? [] : [await waitingStateAt(entry, checkpoints, graph)],
    );
  return (await Promise.all(places)).flat();
}

/** Whether a task that leads to the nested graph has written its results. It does not run again. */
async function hasEnded({ ns }: CheckpointEntry, checkpoints: Checkpoints): Promise<boolean> {
  const parts = ns.split("|");
  for (const [depth, part] of parts.entries()) {
    const [, task] = part.split(":");
    const around = task === undefined ? undefined : checkpoints.get(parts.slice(0, depth).join("|"));
    const writes = around ? await checkpoints.writes(around.ns, around.id) : [];
    if (writes.some((write) => write.taskId === task && isOutput(write))) return true;
  }
  return false;
}

async function waitingStateAt(
  entry: CheckpointEntry,
  checkpoints: Checkpoints,
  graph: Graph | undefined,
): Promise<WaitingState> {
  const { ns, id, refs, checkpoint, metadata } = entry;
  const held = Object.keys(checkpoint.channel_versions).filter((name) =>
    name in refs ? !isEmpty(name, refs[name]) : isReplayed(checkpoints, entry, name, graph),
  );
  // What ended tasks of the step wrote is applied when the step ends.
  const writes = await checkpoints.writes(ns, id);
  const arriving = writes.filter(({ channel, value }) => value !== null || channel.startsWith(TO_NODE));
  const channels = [...held, ...arriving.map(({ channel }) => channel)].filter((name) => !name.startsWith("__"));
  const waiting = refs[TASKS] && !isEmpty(TASKS, refs[TASKS]) ? (await checkpoints.values(entry))[TASKS] : [];
  const sent = [waiting, ...writes.flatMap(({ channel, value }) => (channel === TASKS ? [value] : []))].flat();
  return {
    path: nodesIn(ns),
    channels: checkpoint.v < RENAMED_BELOW ? [] : [...new Set(channels)],
    sends: sent.filter(isObject).map(({ node }) => String(node)),
    ...(typeof metadata.graph_fingerprint === "string" && { fingerprint: metadata.graph_fingerprint }),
    ...(typeof metadata.graph_version === "string" && { version: metadata.graph_version }),
  };
}

/**
 * Whether nothing would be lost without the value: null, an empty list or object, a barrier that nothing has reached. A node to
 * start next has null.
 */
function isEmpty(name: string, ref: CheckpointEntry["refs"][string] | undefined): boolean {
  if (!ref || !("v" in ref)) return false;
  const { v: value } = ref;
  if (value === null) return !name.startsWith(TO_NODE);
  return typeof value === "object" && Object.keys(value).length === 0;
}

// Before a run, after a deploy: the state that another version of the graph left is migrated, or the run is refused.

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

interface StateLocation {
  checkpoints: Checkpoints;
  threadId: string;
  graphId: string;
  /** Of the root graph; the latest when absent. */
  checkpointId?: string;
}

/** What the graph lacks of what is held and waited for at a checkpoint that another version of it wrote. */
async function incompatibilitiesAt(
  graph: Graph,
  { checkpoints, graphId, checkpointId }: StateLocation,
): Promise<Incompatibility[]> {
  const from = checkpoints.get("", checkpointId);
  if (!from || from.metadata.graph_fingerprint === fingerprint(graph)) return [];
  const waiting = await readWaitingStates(checkpoints, graph, checkpointId);
  const breaks = waiting.flatMap((one) => findIncompatibilities(one, describeShape(graph)));
  // Channels of another graph of the thread stay as they are.
  return isOf(from.metadata, graphId) ? breaks : breaks.filter(({ kind }) => kind === "node");
}

/** Whether a version of this graph wrote the checkpoint. */
const isOf = ({ graph_id }: Record<string, unknown>, graphId: string): boolean =>
  graph_id === undefined || graph_id === graphId;

/** The nodes of the root graph that wait at a checkpoint and that the graph no longer has. */
export async function missingNodes(graph: Graph, place: StateLocation): Promise<string[]> {
  const breaks = await incompatibilitiesAt(graph, place);
  return breaks.filter(({ kind, path }) => kind === "node" && path.length === 0).map(({ name }) => name);
}

/**
 * What the graph lacks to continue from a checkpoint, as a sentence; undefined when it lacks nothing. A state that a migration
 * covers lacks nothing.
 */
export async function describeMissing(graph: Graph, position: StateLocation): Promise<string | undefined> {
  const { checkpoints, graphId, checkpointId } = position;
  const breaks = await incompatibilitiesAt(graph, position);
  if (breaks.length === 0) return undefined;
  const left = readNames(checkpoints.get("")?.metadata ?? {}, graphId);
  if (checkpointId === undefined && (await findMigration(graphId, left))) return undefined;
  return `The deployed graph "${graphId}" cannot continue this thread: ${breaks.map(describeIncompatibility).join(", ")}.`;
}

/**
 * Migrates the latest state where the graph's module has a migration for it. It is applied once: the new checkpoint has the
 * fingerprint of this graph.
 */
export async function migrateOnce(graph: Graph, { checkpoints, threadId, graphId }: StateLocation): Promise<void> {
  const from = checkpoints.get("");
  if (!from || from.metadata.graph_fingerprint === fingerprint(graph)) return;
  const migration = await findMigration(graphId, readNames(from.metadata, graphId));
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
  const missing = graph && (await describeMissing(graph, place));
  if (missing) throw remoteProblem(409, `${missing} Its state is kept. Migrate it, or run from an earlier checkpoint.`);
}

/** Whether a migration wrote the latest state and no task has run since. Its questions then have their old ids. */
export const isMigrated = (checkpoints: Checkpoints): boolean =>
  (checkpoints.get("")?.metadata.source as string | undefined) === MIGRATION &&
  Object.keys(checkpoints.interrupts()).length === 0;

/** What checkpoints say of the graph that writes them. */
export async function describeWriter(graph: Graph, graphId: string) {
  const version = await loadVersion(graphId);
  return {
    graph_id: graphId,
    graph_fingerprint: fingerprint(graph),
    ...(version !== undefined && { graph_version: version }),
  };
}

/** What a version of the graph is called that wrote a checkpoint; nothing where another graph did. */
function readNames(metadata: Record<string, unknown>, graphId: string) {
  const { graph_fingerprint, graph_version } = metadata;
  if (!isOf(metadata, graphId)) return {};
  return {
    ...(typeof graph_fingerprint === "string" && { fingerprint: graph_fingerprint }),
    ...(typeof graph_version === "string" && { version: graph_version }),
  };
}

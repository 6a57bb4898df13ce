/** Writes the checkpoint that a migration makes of the state that an earlier version of the graph left. */
import { Send } from "@langchain/langgraph";
import { maxChannelVersion, TASKS, uuid6 } from "@langchain/langgraph-checkpoint";
import { DeltaSnapshot } from "../checkpoints/delta-snapshot.ts";
import * as v from "valibot";
import { budgetQuestion } from "../interrupts/budget.ts";
import { JOIN, TO_NODE } from "../../agents/graphs/continuity.ts";
import { isObject } from "../../lib/json.ts";
import { type Migration, NewState, type NextNode } from "../../agents/graphs/continuity.ts";
import type { AnyGraph as Graph } from "../../runtime/introspect.ts";
import type { Saver } from "../../runtime/saver.ts";
import { fingerprint } from "../../runtime/introspect.ts";
import { readSnapshot } from "../../runtime/state.ts";

/** Holds the input of a graph until its first step. In a function, until it has ended. */
const INPUT = "__start__";
/** The whole state of a graph whose state has no keys. */
const WHOLE = "__root__";
/** The channel of a node that waits until the others have ended. */
const DEFERRED = "LastValueAfterFinish";
/** The channels whose stored form is their value. */
const PLAIN = ["LastValue", "BinaryOperatorAggregate", "EphemeralValue"];

type Stored = NonNullable<Awaited<ReturnType<Saver["getTuple"]>>>;

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

async function readOldState(graph: Graph, saver: Saver, threadId: string, stored: Stored) {
  const { checkpoint, pendingWrites = [] } = stored;
  const known = await readSnapshot(graph, saver, { threadId });
  const values: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(checkpoint.channel_values)) if (isOwn(name)) values[name] = value;
  for (const [, channel, value] of pendingWrites)
    if (isOwn(channel) && !(channel in graph.channels)) values[channel] = value;
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
  const questions = pendingWrites
    .flatMap(([, channel, value]) => (channel === "__interrupt__" ? [value] : []))
    .flat()
    .filter((question) => !isObject(question) || !budgetQuestion(question));
  return { values, next, questions: questions.map((question) => (isObject(question) ? question.value : question)) };
}

/** Throws where the result names a node or a key that the graph does not have. */
function checkNew(graph: Graph, { values = {}, next = [] }: NewState): void {
  const nodes = next.map(nameIn).filter((name) => !(name in graph.nodes));
  const keys = Object.keys(values).filter((name) => !(name in graph.channels) || !isOwn(name));
  const [wrong] = [...nodes.map((name) => `node "${name}"`), ...keys.map((name) => `key "${name}"`)];
  if (wrong) throw new Error(`The migration returns the ${wrong}, which the graph does not have.`);
}

function checkpointFrom(
  graph: Graph,
  saver: Saver,
  { checkpoint, pendingWrites = [], metadata }: Stored,
  { values, next, restarts }: { values: Record<string, unknown>; next: NextNode[]; restarts: boolean },
) {
  const version = saver.getNextVersion(maxChannelVersion(...Object.values(checkpoint.channel_versions)) as number);
  const channel_values: Record<string, unknown> = {};
  for (const [name, channel] of Object.entries(graph.channels as Record<string, Channel>)) {
    const before = checkpoint.channel_values[name];
    const arrived = pendingWrites.flatMap(([, written, value]) => (written === name ? [value] : []));
    if (name.startsWith(JOIN) || isDeferred(channel)) channel_values[name] = reduceChannel(channel, before, arrived);
    else if (name.startsWith(TO_NODE) || (name === INPUT && !restarts)) continue;
    else if (!isOwn(name)) channel_values[name] = before;
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

/** Whether the channel is a key of the state, not one of LangGraph's own. */
const isOwn = (name: string): boolean =>
  name === WHOLE || !["__", TO_NODE, JOIN].some((start) => name.startsWith(start));
const isDeferred = (channel?: Channel): boolean => channel?.lc_graph_name === DEFERRED;
const nodeIn = (channel: string): string => channel.slice(TO_NODE.length);
const nameIn = (node: NextNode): string => (typeof node === "string" ? node : node.node);

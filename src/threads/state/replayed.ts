/**
 * Channels that LangGraph does not store with each checkpoint (`DeltaChannel`): what they hold is replayed from the writes under earlier
 * checkpoints. Which channels these are is a fact of the graph that wrote the checkpoint.
 */
import { nestedShape } from "../../agents/graphs/compatibility.ts";
import type { Json } from "../../lib/json.ts";
import { logError } from "../../lib/log.ts";
import { type AnyGraph as Graph, describeShape } from "../../runtime/introspect.ts";
import { readValues } from "../../runtime/state.ts";
import { type CheckpointEntry, isStateKey, unstoredKeys } from "../checkpoints/checkpoint.ts";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import type { ThreadContext } from "../context.ts";
import { graphAt, graphIdAt, saver } from "./graph.ts";

/**
 * The kinds of channels that LangGraph replays where a checkpoint knows them and has no value. A channel with a reducer always has one,
 * unless an earlier version of the graph had it as a `DeltaChannel`.
 */
const REPLAYED = ["DeltaChannel", "reducer", "messages"];

/** The nodes that lead to the nested graph of a namespace. */
export const nodesIn = (ns: string): string[] =>
  ns === ""
    ? []
    : ns
        .split("|")
        .map((part) => part.replace(/:.*/, ""))
        // Further calls of nested graphs in one task are counted.
        .filter((part) => !/^\d+$/.test(part));

/** The kinds of the channels of a checkpoint's graph; undefined where `graph` is not known to call such a nested graph. */
const kindsAt = (graph: Graph, { ns }: CheckpointEntry): Record<string, string> | undefined =>
  nestedShape(describeShape(graph), nodesIn(ns))?.channels;

/** Whether the value of a channel of a checkpoint is replayed. `graph`: what is deployed, if anything is. */
export function isReplayed(
  checkpoints: Checkpoints,
  entry: CheckpointEntry,
  channel: string,
  graph: Graph | undefined,
): boolean {
  if (!isStateKey(channel) || channel in entry.refs) return false;
  const kind = graph && kindsAt(graph, entry)?.[channel];
  return kind === undefined ? checkpoints.isReplayable(entry, channel) : REPLAYED.includes(kind);
}

/** What later checkpoints need of those that are to be deleted. */
interface Replayed {
  /** The values of replayed channels, by checkpoint and channel. */
  values: Map<CheckpointEntry, Json>;
  /** Checkpoints from which channels are replayed that no deployed graph knows: they must stay. */
  needed: CheckpointEntry[];
}

/** The values of the replayed channels of these checkpoints, through the graphs that wrote them. */
export async function readReplayed(context: ThreadContext, entries: CheckpointEntry[]): Promise<Replayed> {
  const values = new Map<CheckpointEntry, Json>();
  const needed: CheckpointEntry[] = [];
  for (const entry of entries) {
    const { found, unread } = await readReplayedAt(context, entry);
    if (Object.keys(found).length > 0) values.set(entry, found);
    needed.push(...context.checkpoints.replayedFrom(entry, unread));
  }
  return { values, needed };
}

/** A thread that several graphs use has channels that the graph of a checkpoint does not know: that of an earlier one does. */
async function readReplayedAt(
  context: ThreadContext,
  entry: CheckpointEntry,
): Promise<{ found: Json; unread: string[] }> {
  const found: Json = {};
  let unread = unstoredKeys(entry);
  const asked = new Set<string | undefined>();
  for (const writer of withAncestors(context.checkpoints, entry)) {
    if (unread.length === 0) break;
    const id = graphIdAt(context, writer);
    if (asked.has(id)) continue;
    asked.add(id);
    const read = await readThrough(context, writer, entry, unread);
    Object.assign(found, read.found);
    unread = unread.filter((channel) => !(channel in read.found) && !read.stored.includes(channel));
  }
  return { found, unread };
}

function* withAncestors(checkpoints: Checkpoints, entry: CheckpointEntry): Generator<CheckpointEntry, void, void> {
  yield entry;
  yield* checkpoints.ancestors(entry);
}

/** Of these channels, the values of those that the writer's graph replays, and the names of others that it knows. */
async function readThrough(
  context: ThreadContext,
  writer: CheckpointEntry,
  entry: CheckpointEntry,
  channels: string[],
): Promise<{ found: Json; stored: string[] }> {
  try {
    const graph = await graphAt(context, "threads.read", writer);
    const kinds = (graph && kindsAt(graph, entry)) ?? {};
    const known = channels.filter((channel) => channel in kinds);
    const replayed = known.filter((channel) => REPLAYED.includes(kinds[channel] ?? ""));
    const stored = known.filter((channel) => !replayed.includes(channel));
    if (!graph || replayed.length === 0) return { found: {}, stored };
    const values = await readValues(graph, saver(context), entry);
    return {
      found: Object.fromEntries(replayed.flatMap((name) => (name in values ? [[name, values[name]]] : []))),
      stored,
    };
  } catch (error) {
    // Without the graph the earlier checkpoints stay.
    logError(error, { thread: context.threadId, while: "reading the values of channels that are replayed" });
    return { found: {}, stored: [] };
  }
}

/** Where the thread stands in its graph, as what another version of the graph must have to continue. */
import { TASKS } from "@langchain/langgraph-checkpoint";
import { isObject } from "../../lib/json.ts";
import { type Parked, TO_NODE } from "../../agents/graphs/continuity.ts";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import { type Entry, replayedChannels } from "../checkpoints/entry.ts";
import type { ThreadContext } from "../context.ts";
import type { ParkedThread } from "../types.ts";

/** LangGraph renames the channels of checkpoints below this version itself. */
const RENAMED_BELOW = 3;

/** Where the thread stands; undefined when it has no graph yet. */
export async function parkedThread({ record, checkpoints }: ThreadContext): Promise<ParkedThread | undefined> {
  const { graph_id } = record?.metadata ?? {};
  return typeof graph_id === "string" ? { graph_id, places: await readParked(checkpoints) } : undefined;
}

/** The places from which a run continues: at `checkpointId`, else at the latest checkpoint with the nested graphs at work. */
export async function readParked(checkpoints: Checkpoints, checkpointId?: string): Promise<Parked[]> {
  const entries = checkpointId === undefined ? checkpoints.live() : [checkpoints.get("", checkpointId)];
  const places = entries
    .filter((entry) => entry !== undefined)
    .map(async (entry) => ((await hasEnded(entry, checkpoints)) ? [] : [await parkedAt(entry, checkpoints)]));
  return (await Promise.all(places)).flat();
}

/** Whether a task that leads to the nested graph has written its results. It does not run again. */
async function hasEnded({ ns }: Entry, checkpoints: Checkpoints): Promise<boolean> {
  const parts = ns.split("|");
  for (const [depth, part] of parts.entries()) {
    const [, task] = part.split(":");
    const around = task === undefined ? undefined : checkpoints.get(parts.slice(0, depth).join("|"));
    const writes = around ? await checkpoints.writes(around.ns, around.id) : [];
    // Questions, answers and errors have negative places.
    if (writes.some(({ taskId, index }) => taskId === task && index >= 0)) return true;
  }
  return false;
}

async function parkedAt(entry: Entry, checkpoints: Checkpoints): Promise<Parked> {
  const { ns, id, refs, checkpoint, metadata } = entry;
  const replayed = replayedChannels(entry);
  const held = Object.keys(checkpoint.channel_versions).filter(
    (name) => replayed.includes(name) || (name in refs && !isEmpty(name, refs[name])),
  );
  // What ended tasks of the step wrote is applied when the step ends.
  const writes = await checkpoints.writes(ns, id);
  const arriving = writes.filter(({ channel, value }) => value !== null || channel.startsWith(TO_NODE));
  const channels = [...held, ...arriving.map(({ channel }) => channel)].filter((name) => !name.startsWith("__"));
  const waiting = refs[TASKS] && !isEmpty(TASKS, refs[TASKS]) ? (await checkpoints.values(entry))[TASKS] : [];
  const sent = [waiting, ...writes.flatMap(({ channel, value }) => (channel === TASKS ? [value] : []))].flat();
  return {
    path: ns === "" ? [] : ns.split("|").map((part) => part.replace(/:.*/, "")),
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
function isEmpty(name: string, ref: Entry["refs"][string] | undefined): boolean {
  if (!ref || !("v" in ref)) return false;
  const { v: value } = ref;
  if (value === null) return !name.startsWith(TO_NODE);
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** Where the thread stands in its graph, as what another version of the graph must have to continue. */
import { TASKS } from "@langchain/langgraph-checkpoint";
import { isObject } from "../../http/json.ts";
import type { Parked } from "../../graphs/continuity.ts";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import type { Entry } from "../checkpoints/entry.ts";
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
  return Promise.all(entries.filter((entry) => entry !== undefined).map(async (entry) => parkedAt(entry, checkpoints)));
}

async function parkedAt(entry: Entry, checkpoints: Checkpoints): Promise<Parked> {
  const { ns, id, refs, checkpoint, metadata } = entry;
  const held = Object.keys(checkpoint.channel_versions).filter((name) => name in refs && !isEmpty(refs[name]));
  // What ended tasks of the step wrote is applied when the step ends.
  const writes = await checkpoints.writes(ns, id);
  const channels = [...held, ...writes.map(({ channel }) => channel)].filter((name) => !name.startsWith("__"));
  const waiting = refs[TASKS] && !isEmpty(refs[TASKS]) ? (await checkpoints.values(entry))[TASKS] : [];
  const sent = [waiting, ...writes.flatMap(({ channel, value }) => (channel === TASKS ? [value] : []))].flat();
  return {
    path: ns === "" ? [] : ns.split("|").map((part) => part.replace(/:.*/, "")),
    channels: checkpoint.v < RENAMED_BELOW ? [] : [...new Set(channels)],
    sends: sent.filter(isObject).map(({ node }) => String(node)),
    ...(typeof metadata.graph_fingerprint === "string" && { fingerprint: metadata.graph_fingerprint }),
    ...(typeof metadata.graph_version === "string" && { version: metadata.graph_version }),
  };
}

/** Whether the stored value is an empty list or object: a barrier that nothing has reached, a list without items. */
function isEmpty(ref: Entry["refs"][string] | undefined): boolean {
  if (!ref || !("v" in ref)) return false;
  const { v: value } = ref;
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** A checkpoint as the thread's tables hold it. */
import type { SavedCheckpoint } from "../../runtime/saver.ts";
import type { Refs } from "../log/values.ts";
import type { StoredWrite } from "./writes.ts";

export interface Entry extends SavedCheckpoint {
  refs: Refs;
  /** Those that were stored together with it. Later ones are with a checkpoint that continues from it, or in rows of their own. */
  writes: StoredWrite[];
  /** Writes under the parent that came after the parent was stored. */
  late?: LateWrites;
}

export interface LateWrites {
  /** Their place among the rows of writes of the parent. */
  n: number;
  writes: StoredWrite[];
}

/** Names a checkpoint in its thread. */
export const entryKey = ({ ns, id }: Pick<Entry, "ns" | "id">): string => `${ns}|${id}`;

/** The checkpoint without what it holds under its parent. */
export const withoutLate = ({ late: _late, ...entry }: Entry): Entry => entry;

/** LangGraph's counters of the channels that are replayed from the writes of earlier checkpoints (`DeltaChannel`). */
type Counters = Record<string, unknown> | undefined;

/** The channels of a checkpoint whose values are replayed from earlier ones. */
export function replayedChannels({ metadata, refs }: Entry): string[] {
  const counters = metadata["counters_since_delta_snapshot"] as Counters;
  return Object.keys(counters ?? {}).filter((channel) => !(channel in refs));
}

/** The checkpoint with the values of these channels, which are no longer replayed. */
export function withValues(entry: Entry, refs: Refs): Entry {
  const { counters_since_delta_snapshot: counters, ...metadata } = entry.metadata;
  const left = Object.entries(counters ?? {}).filter(([channel]) => !(channel in refs));
  const rest = left.length > 0 && { counters_since_delta_snapshot: Object.fromEntries(left) };
  return { ...entry, refs: { ...entry.refs, ...refs }, metadata: { ...metadata, ...rest } };
}

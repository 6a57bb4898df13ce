/**
 * The shards of a project's day. A day is one partition, shard 0, until that is full or overloaded. Then the number of shards
 * doubles: 1, 2, 4, and so on. The new half takes the traces that begin after that. A trace stays in the shard that holds it.
 */

import type { RunWrite } from "./types.ts";

/** The most shards of a day: seven generations, which hold about 500 GB. */
export const MOST_SHARDS = 64;

/** What a shard puts before the ids of feedback that it names beside those of runs and traces. */
export const EARLY = "feedback/";

/**
 * The shards that can hold a trace, oldest generation first: one of each generation, chosen by the trace's id. The last
 * one takes the trace when no other holds it.
 */
export function listShards(trace: string, shards: number): number[] {
  const hash = hashTrace(trace);
  const found = [0];
  for (let first = 1; first < shards; first *= 2) found.push(first + (hash % first));
  return found;
}

/** Whether a shard takes only runs of the traces that it holds: it is of an older generation. */
export function isClosed(shard: number, shards: number): boolean {
  return shard < shards >> 1;
}

/** The ids by which a shard finds a run: its own, its trace's and its parent's. */
export function lookupIds({ id, trace_id, parent_run_id }: RunWrite): string[] {
  return [id, trace_id, parent_run_id].filter((one) => one !== undefined);
}

/** The trace of a run. Undefined when it is that of its parent, which the run does not name. */
export function findTraceId({ id, trace_id, parent_run_id }: RunWrite): string | undefined {
  return trace_id ?? (parent_run_id === undefined ? id : undefined);
}

/** FNV-1a, 32 bits. */
function hashTrace(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

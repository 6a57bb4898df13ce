/** Which shard of a day takes each run (shards.ts). */
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { tracePartition } from "../stub.ts";
import type { PartitionIdentity, RunWrite } from "../types.ts";
import { moveFeedback } from "../feedback/move.ts";
import { EARLY, lookupIds, isClosed, listShards, findTraceId } from "../shards.ts";

/** A project's day. */
export type Day = Omit<PartitionIdentity, "shard">;

/**
 * The number of shards of the days that have more than one, as cached by this isolate. A partition corrects a caller
 * with a smaller number, so ingest needs no query to D1 for it.
 */
const grown = new Map<string, number>();
const MOST_KNOWN = 10_000;

const dayKey = ({ workspaceId, projectId, day }: Day) => `${workspaceId}/${projectId}/${day}`;

export function shardsKnown(day: Day): number {
  return grown.get(dayKey(day)) ?? 1;
}

export function noteShards(day: Day, shards: number): void {
  if (shards <= shardsKnown(day)) return;
  if (grown.size >= MOST_KNOWN) grown.clear();
  grown.set(dayKey(day), shards);
}

interface Item {
  draft: { write: RunWrite };
  shard?: number;
}

/**
 * The items by the shard that takes them. Shards of older generations return which of the ids they hold; this call
 * closes them.
 */
export async function placeItems<T extends Item>(
  env: Env,
  day: Day,
  items: T[],
  shards: number,
): Promise<Map<number, T[]>> {
  const candidates = new Map(items.map((item) => [item, candidateShards(item, shards)]));
  const asked = new Map<number, { ids: Set<string>; traces: Set<string> }>();
  for (const [{ draft }, own] of candidates) {
    for (const shard of own.length > 1 ? own : []) {
      if (!isClosed(shard, shards) && draft.write.trace_id !== undefined) continue;
      const wanted = asked.get(shard) ?? { ids: new Set(), traces: new Set() };
      asked.set(shard, wanted);
      for (const id of lookupIds(draft.write)) wanted.ids.add(id);
      const trace = findTraceId(draft.write);
      if (trace !== undefined) wanted.traces.add(trace);
    }
  }
  const answers = await inParallel(asked, CONNECTIONS, async ([shard, { ids, traces }]) => {
    const place = { ...day, shard };
    const held = await tracePartition(env, day.workspaceId, place).holds(place, shards, [...ids], [...traces]);
    return [shard, new Set(held)] as const;
  });
  const held = new Map(answers);
  const found = Map.groupBy(items, (item) => {
    const own = candidates.get(item) ?? [0];
    const ids = lookupIds(item.draft.write);
    return own.find((shard) => ids.some((id) => held.get(shard)?.has(id))) ?? (own.at(-1) as number);
  });
  await moveEarly(env, day, held, found);
  return found;
}

/** Moves feedback that is in another shard than its run will be. */
async function moveEarly<T extends Item>(
  env: Env,
  day: Day,
  held: Map<number, Set<string>>,
  found: Map<number, T[]>,
): Promise<void> {
  const shardById = new Map([...found].flatMap(([shard, own]) => own.map(({ draft }) => [draft.write.id, shard])));
  for (const [shard, ids] of held) {
    const early = [...ids].flatMap((id) => (id.startsWith(EARLY) ? [id.slice(EARLY.length)] : []));
    if (early.length > 0) await moveFeedback(env, { ...day, shard }, early, (runId) => shardById.get(runId));
  }
}

/** The shards that can hold a run, oldest generation first. The last one takes it when no other holds it. */
function candidateShards({ draft: { write }, shard }: Item, shards: number): number[] {
  if (shard !== undefined) return [shard];
  if (write.trace_id !== undefined) return listShards(write.trace_id, shards);
  // A run without a trace id is with its parent, which can be in any shard.
  const newest = listShards(write.id, shards).at(-1) as number;
  return [...Array.from({ length: shards }, (_, i) => i).filter((one) => one !== newest), newest];
}

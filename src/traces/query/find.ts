/** Finding runs over projects, days and shards, page by page. */
import { database } from "../../db/client.ts";
import { openSealedBlobs } from "../../access/encryption/blobs.ts";
import { checkFilters } from "../partition/read/condition.ts";
import { type RunSelection, compareRanked, type RankedRun, type RankRequest, type RankPosition } from "../rpc.ts";
import { runBlobPrefix, payloadKey, tracePartition } from "../stub.ts";
import {
  LARGE_FIELDS,
  type LargeField,
  type PartitionLocation,
  type QueriedRun,
  type RunPosition,
  type TraceTreeRun,
} from "../types.ts";
import { dayBounds } from "../time.ts";
import { placeholder } from "./responses.ts";
import { acrossMidnight, callsEach } from "./midnight.ts";
import { resolveScope } from "./scope.ts";
import { MAX_RUNS_OF_TRACE } from "./schema.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { askPartitions, newQueryBudget } from "./stats.ts";

export interface RunFindRequest {
  /** Empty: all projects of the workspace. */
  projectIds: string[];
  /** Where the runs are, when the caller has located them. */
  locations?: PartitionLocation[];
  selection: RunSelection;
  order: "asc" | "desc";
  after: RunPosition | null;
  limit: number;
  payloads: LargeField[];
  /** Payloads that must be loaded. Other payloads in R2 become placeholders (responses.ts). */
  values?: LargeField[];
}

export interface RunFindPage {
  runs: QueriedRun[];
  next: RunPosition | null;
}

/** Partitions that are read at the same time. */
export const AT_ONCE = 6;
/** Payload bytes of one page: a page ends early rather than fill the memory. */
export const PAGE_BYTES = 12 * 1024 * 1024;

/**
 * Calls of one page: a request may make 10,000, and code that reads several pages makes more. The page then ends early, also
 * without a run, and the next one goes on.
 */
const MAX_CALLS = 2_000;

/**
 * One page of runs, in the order of their start. The filters must have been checked (`checkSelection`). A page can end before its
 * limit; only one whose `next` is null is the last.
 */
export async function findRuns(env: Env, workspaceId: string, find: RunFindRequest): Promise<RunFindPage> {
  const { order, after, limit } = find;
  const selection = after ? narrowSelection(find.selection, order, after) : find.selection;
  const scope =
    find.locations ?? (await resolveScope(env, database(env.DB), workspaceId, find.projectIds, selection, order));
  const runs: QueriedRun[] = [];
  let calls = 0;
  for (const partitions of groupByDay(scope)) {
    const own = partitions.length * callsEach(selection);
    if (calls > 0 && calls + own > MAX_CALLS) {
      const next = edgeOf(partitions[0] as PartitionLocation, order);
      return { runs: await loadPayloads(env, runs, find.values), next };
    }
    calls += own;
    const wanted = limit + 1 - runs.length;
    const page = await askAll(env, workspaceId, partitions, { ...find, selection }, wanted);
    runs.push(...page.runs);
    if (runs.length > limit || page.cut) {
      const shown = runs.slice(0, limit);
      const last = shown.at(-1);
      const next = last ? { start_time: last.start_time, id: last.id } : null;
      return { runs: await loadPayloads(env, shown, find.values), next };
    }
  }
  return { runs: await loadPayloads(env, runs, find.values), next: null };
}

/** The position before all runs of a day, in the order. */
function edgeOf({ day }: PartitionLocation, order: "asc" | "desc"): RunPosition {
  const { start, end } = dayBounds(day);
  return order === "asc" ? { start_time: start, id: "" } : { start_time: end - 1, id: "~" };
}

/** All runs, page by page. */
export async function* eachRun(
  env: Env,
  workspaceId: string,
  find: Omit<RunFindRequest, "after">,
): AsyncGenerator<QueriedRun> {
  for (let after: RunPosition | null = null; ;) {
    const page: RunFindPage = await findRuns(env, workspaceId, { ...find, after });
    yield* page.runs;
    if (page.next === null) return;
    after = page.next;
  }
}

/** Checks the filters of a selection. An empty filter is no filter. @throws Problem 400 */
export function checkSelection({ filter, traceFilter, treeFilter }: RunSelection): void {
  checkFilters([filter, traceFilter, treeFilter].map((text) => text || undefined));
}

/** A cursor excludes the days before it, so they are not read. */
function narrowSelection(selection: RunSelection, order: "asc" | "desc", after: RunPosition): RunSelection {
  if (order === "desc") return { ...selection, endTime: Math.min(selection.endTime ?? Infinity, after.start_time + 1) };
  return { ...selection, startTime: Math.max(selection.startTime ?? 0, after.start_time) };
}

/** Groups of partitions to ask at once; a day is never split, for its runs have to be sorted together. */
function groupByDay(scope: PartitionLocation[]): PartitionLocation[][] {
  const groups: PartitionLocation[][] = [];
  for (const partition of scope) {
    const group = groups.at(-1);
    if (group && (group.length < AT_ONCE || group.at(-1)?.day === partition.day)) group.push(partition);
    else groups.push([partition]);
  }
  return groups;
}

/** The runs of these partitions in order; `cut` when a partition had more than it could give. */
async function askAll(
  env: Env,
  workspaceId: string,
  partitions: PartitionLocation[],
  { selection, order, after, payloads }: RunFindRequest,
  limit: number,
): Promise<{ runs: QueriedRun[]; cut: boolean }> {
  const request = { order, after, limit, payloads, maxBytes: PAGE_BYTES / partitions.length };
  const pages = await Promise.all(
    partitions.map(async (partition) => {
      const own = await acrossMidnight(env, workspaceId, partition, selection);
      return tracePartition(env, workspaceId, partition).query({ ...own, ...request });
    }),
  );
  const sign = order === "asc" ? 1 : -1;
  const compare = (a: RunPosition, b: RunPosition) =>
    sign * (a.start_time - b.start_time || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const runs = pages.flatMap((page) => page.runs).sort(compare);
  // Behind the last run of a partition that stopped for size, others would come too early.
  const limits = pages
    .filter((page) => !page.done && page.runs.length < limit)
    .flatMap((page) => page.runs.at(-1) ?? []);
  const nearest = limits.sort(compare)[0];
  if (!nearest) return { runs, cut: false };
  return { runs: runs.filter((run) => compare(run, nearest) <= 0), cut: true };
}

/** Loads payloads from R2 or replaces them by placeholders. */
export async function loadPayloads(env: Env, runs: QueriedRun[], values: LargeField[] = []): Promise<QueriedRun[]> {
  const filled: QueriedRun[] = [];
  for (const { large, ...run } of runs) {
    for (const field of LARGE_FIELDS) {
      const payload = large?.[field];
      if (!payload) continue;
      const key = payloadKey(runBlobPrefix(run), payload.hash);
      run[field] = values.includes(field)
        ? ((await (await openSealedBlobs(env).get(key))?.text()) ?? null)
        : placeholder(field, key);
    }
    filled.push(run);
  }
  return filled;
}

export function selectPayloads(names: Set<string>): LargeField[] {
  return LARGE_FIELDS.filter((field) => field === "error" || names.has(field));
}

// Reads the tree of a trace over the partitions that can hold it.

/** The first runs of a trace, each after its parent. Without a project, the trace is looked for in all of them. */
export async function readTree(
  env: Env,
  workspaceId: string,
  projectIds: string[],
  traceId: string,
  limit: number,
): Promise<TraceTreeRun[]> {
  const scope = await resolveScope(env, database(env.DB), workspaceId, projectIds, { traceId }, "asc");
  const runs: TraceTreeRun[] = [];
  for (let i = 0; i < scope.length && runs.length < MAX_RUNS_OF_TRACE; i += AT_ONCE) {
    const locations = scope.slice(i, i + AT_ONCE);
    const asked = locations.map((location) => tracePartition(env, workspaceId, location).tree(traceId, limit));
    for (const found of await Promise.all(asked)) runs.push(...found);
  }
  runs.sort((a, b) => (a.dotted_order < b.dotted_order ? -1 : a.dotted_order > b.dotted_order ? 1 : 0));
  return runs.slice(0, limit);
}

// Pages of runs by a figure, over projects, days and shards.

export interface RankFindRequest extends RankRequest {
  projectIds: string[];
  selection: RunSelection;
  payloads: LargeField[];
}

interface RankFindPage {
  runs: QueriedRun[];
  next: RankPosition | null;
  /** False when there are more partitions than one request asks. The newest answer. */
  complete: boolean;
}

/** Each partition gives its first runs in the order, by their ids. The page is read when it is known which runs it has. */
export async function rankOverPartitions(
  env: Env,
  workspaceId: string,
  ranking: RankFindRequest,
): Promise<RankFindPage> {
  const { projectIds, selection, payloads, limit, ...order } = ranking;
  let best: (RankedRun & { place: PartitionLocation })[] = [];
  const complete = await askPartitions(
    env,
    workspaceId,
    { projectIds, selection, budget: newQueryBudget() },
    async (partition, own, location) => {
      const runs = await partition.rank({ ...own, ...order, limit: limit + 1 });
      return runs.map((run) => ({ ...run, place: location }));
    },
    (runs) => {
      best = [...best, ...runs].sort((a, b) => compareRanked(order.order, a, b)).slice(0, limit + 1);
    },
  );
  const page = best.slice(0, countFitting(best.slice(0, limit)));
  const last = page.at(-1);
  const places = [...Map.groupBy(page, ({ place: location }) => JSON.stringify(location)).values()];
  const read = await inParallel(places, CONNECTIONS, async (runs) => {
    const ids = runs.map(({ id }) => id);
    const request = { ids, order: "desc" as const, after: null, limit: ids.length, maxBytes: Infinity, payloads };
    return (await tracePartition(env, workspaceId, (runs[0] as { place: PartitionLocation }).place).query(request))
      .runs;
  });
  const found = new Map(read.flat().map((run) => [run.id, run]));
  // A run that was deleted in the meantime is missing.
  const runs = page.flatMap(({ id }) => found.get(id) ?? []);
  const next = last && page.length < best.length ? { figure: last.figure, id: last.id } : null;
  return { runs: await loadPayloads(env, runs), next, complete };
}

/** How many runs a page has room for, at least one. */
function countFitting(runs: RankedRun[]): number {
  let bytes = 0;
  const end = runs.findIndex((run) => (bytes += run.bytes) > PAGE_BYTES);
  return end === -1 ? runs.length : Math.max(1, end);
}

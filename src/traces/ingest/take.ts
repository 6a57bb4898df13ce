/** Takes the operations of one request into their partitions. */
import { type Database, database } from "../../db/client.ts";
import type { Principal } from "../../auth/principal.ts";
import { Problem } from "../../http/problem.ts";
import { createFeedback } from "../feedback/create.ts";
import { locateRuns, type Place } from "../locate.ts";
import { DEFAULT_PROJECT, projectById, projectByName } from "../projects/resolve.ts";
import { type PartitionIdentity, type RunWrite, tracePartition } from "../rpc.ts";
import type { ProjectRow } from "../store.ts";
import { dayOf } from "../time.ts";
import { type Draft, draftOf } from "./normalise.ts";
import type { Gathering, IngestFault, Operation } from "./operations.ts";
import { placePayloads } from "./payloads.ts";

/** What a 202 says: SDKs read only the status, people read the rest. */
export interface IngestAnswer {
  message: string;
  taken: number;
  rejected: number;
  /** What was not taken, or not as sent; at most 100 entries. */
  errors: IngestFault[];
}

/** One RPC carries at most this much, bytes; the platform's limit is 32 MiB. */
const RPC_BYTES = 8 * 1024 * 1024;

interface Work {
  operation: Operation;
  draft: Draft;
}

/** Stores what can be stored, durably, and says what could not. `soon`: nobody waits, so it may take a moment. */
export async function take(env: Env, principal: Principal, gathering: Gathering, soon = false): Promise<IngestAnswer> {
  const db = database(env.DB);
  const { workspaceId } = principal;
  const work = gathering.finish().operations.flatMap((operation) => draftSafely(operation, gathering));
  const places = await locateVague(env, db, workspaceId, work);
  const groups = new Map<string, { partition: PartitionIdentity; work: Work[] }>();
  for (const item of work) {
    const partition = await partitionOf(db, workspaceId, item, places);
    if (typeof partition === "string") {
      gathering.fault(item.operation.id, partition);
      continue;
    }
    for (const message of item.draft.warnings) note(gathering, item.operation.id, message);
    const key = `${partition.projectId}/${partition.day}`;
    const group = groups.get(key) ?? { partition, work: [] };
    groups.set(key, group);
    group.work.push(item);
  }
  await Promise.all([...groups.values()].map((group) => store(env, group.partition, group.work, soon)));
  for (const { runId, body } of gathering.feedback) await takeFeedback(env, principal, gathering, runId, body);
  const taken = [...groups.values()].reduce((sum, group) => sum + group.work.length, 0);
  const message = gathering.rejected === 0 ? "Runs batch ingested" : "Runs batch ingested in part: see errors";
  return { message, taken, rejected: gathering.rejected, errors: gathering.faults };
}

function draftSafely(operation: Operation, gathering: Gathering): Work[] {
  try {
    return [{ operation, draft: draftOf(operation) }];
  } catch {
    gathering.fault(operation.id, "The run could not be read.");
    return [];
  }
}

function note(gathering: Gathering, id: string, message: string): void {
  if (gathering.faults.length < 100) gathering.faults.push({ id, message: `${message}; it was left out` });
}

/** Patches that say neither their project nor their time belong to a run that is known already. */
async function locateVague(env: Env, db: Database, workspaceId: string, work: Work[]): Promise<Map<string, Place>> {
  const posted = new Set(
    work.filter(({ operation }) => operation.kind === "post").map(({ operation }) => operation.id),
  );
  const vague = work.filter(({ operation, draft }) => isVague(draft, operation) && !posted.has(operation.id));
  if (vague.length === 0) return new Map();
  const ids = vague.flatMap(({ draft }) => [draft.write.id, ...(draft.write.trace_id ? [draft.write.trace_id] : [])]);
  return locateRuns(env, db, workspaceId, [...new Set(ids)]);
}

function isVague({ project, startIsCertain }: Draft, { kind }: Operation): boolean {
  return kind === "patch" && (!startIsCertain || (project.id === undefined && project.name === undefined));
}

/** The run's partition, or why it has none. */
async function partitionOf(
  db: Database,
  workspaceId: string,
  { operation, draft }: Work,
  places: Map<string, Place>,
): Promise<PartitionIdentity | string> {
  const known = places.get(draft.write.id);
  if (known) {
    const { traceTier } = (await projectById(db, workspaceId, known.projectId)) ?? { traceTier: "longlived" as const };
    return { workspaceId, ...known, traceTier };
  }
  const trace = draft.write.trace_id === undefined ? undefined : places.get(draft.write.trace_id);
  const project = await projectOf(db, workspaceId, draft, trace);
  if (!project) return "session_id: no such project in this workspace";
  const isLost = operation.kind === "patch" && draft.start === undefined;
  if (isLost) return "patch: its run is not known, and neither dotted_order nor start_time says when it started";
  return {
    workspaceId,
    projectId: project.id,
    day: dayOf(draft.start ?? Date.now() * 1000),
    traceTier: project.traceTier,
  };
}

async function projectOf(
  db: Database,
  workspaceId: string,
  { project }: Draft,
  trace: Place | undefined,
): Promise<ProjectRow | undefined> {
  if (project.id !== undefined) {
    const found = await projectById(db, workspaceId, project.id);
    if (found || project.name === undefined) return found;
  }
  if (project.name !== undefined) return projectByName(db, workspaceId, project.name);
  if (trace) return projectById(db, workspaceId, trace.projectId);
  return projectByName(db, workspaceId, DEFAULT_PROJECT);
}

async function store(env: Env, partition: PartitionIdentity, work: Work[], soon: boolean): Promise<void> {
  const stub = tracePartition(env, partition.workspaceId, partition.projectId, partition.day);
  let writes: RunWrite[] = [];
  let bytes = 0;
  for (const { operation, draft } of work) {
    const size = Object.values(draft.texts).reduce((sum, text) => sum + text.length, 0);
    if (writes.length > 0 && bytes + size > RPC_BYTES) {
      await stub.upsert(partition, writes, soon);
      writes = [];
      bytes = 0;
    }
    writes.push(await placePayloads(env.BLOBS, partition, draft, operation));
    bytes += Math.min(size, 1024 * 1024);
  }
  if (writes.length > 0) await stub.upsert(partition, writes, soon);
}

async function takeFeedback(
  env: Env,
  principal: Principal,
  gathering: Gathering,
  runId: string,
  body: Record<string, unknown>,
): Promise<void> {
  try {
    await createFeedback(env, principal, { ...body, run_id: runId });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    gathering.fault(runId, `feedback: ${error.detail}`);
  }
}

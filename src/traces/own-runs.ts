/** Weir's own traces: the runs of its graphs go through the same ingest as all others, in process. */
import { database } from "../db/client.ts";
import { CONNECTIONS, inParallel } from "../lib/parallel.ts";
import { issueTokens } from "./review/feedback/tokens.ts";
import { Intake } from "./ingest/intake.ts";
import { DEFAULT_PROJECT, projectByName } from "./projects/resolve.ts";
import { tracePartition } from "./stub.ts";
import type { RunTimes } from "./types.ts";
import { noRunTimes, sumOfRunTimes } from "./partition/stats/durations.ts";
import { listPartitions } from "./projects/partitions.ts";
import { findProjectByName } from "./projects/store.ts";
import { toDay } from "./time.ts";

/** Where a run's trace goes; undefined when the deployment has turned traces off (empty TRACE_PROJECT). */
export function ownProject(env: Env, perRun: string | undefined): string | undefined {
  if (env.TRACE_PROJECT === "") return undefined;
  return perRun || env.TRACE_PROJECT || DEFAULT_PROJECT;
}

/** Stores trace runs of a workspace. Doing it again changes nothing, so an outbox can repeat it. */
export async function storeOwnRuns(env: Env, workspaceId: string, runs: unknown[]): Promise<void> {
  const self = { workspaceId, scopes: ["write"], kind: "admin", credentialId: "self" } as const;
  const intake = await Intake.masked(env, self, true);
  for (const run of runs) intake.gathering.addRun("post", run);
  await intake.finish();
}

/** How the workspace's runs went that began on this UTC day; undefined where traces are off. */
export async function ownRunTimes(env: Env, workspaceId: string, now: number): Promise<RunTimes | undefined> {
  const name = ownProject(env, undefined);
  if (name === undefined) return undefined;
  const db = database(env.DB);
  const project = await findProjectByName(db, workspaceId, name);
  if (!project) return undefined;
  const today = toDay(now * 1000);
  const shards = await listPartitions(db, workspaceId, project.id, today, today);
  const times = await inParallel(shards, CONNECTIONS, (shard) => tracePartition(env, workspaceId, shard).runTimes());
  return times.reduce(sumOfRunTimes, noRunTimes());
}

export interface OwnRun {
  id: string;
  project: string;
  /** When its trace began, microseconds. */
  began: number;
}

/** Links for feedback on a run whose trace is about to be stored: `{<key>: url}`. */
export async function feedbackLinks(
  env: Env,
  workspaceId: string,
  { id, project, began }: OwnRun,
  { keys, origin }: { keys: string[]; origin: string },
): Promise<Record<string, string>> {
  const { id: projectId } = await projectByName(database(env.DB), workspaceId, project);
  const place = { projectId, startTime: Math.floor(began / 1000) };
  const wanted = keys.map((key) => ({ runId: id, key, place }));
  const made = await issueTokens(env, workspaceId, origin, wanted);
  return Object.fromEntries(made.map(({ feedback_key, url }) => [feedback_key, url]));
}

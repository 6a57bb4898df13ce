/** Feedback on a run, or on a whole project: its location, and what is stored. */
import type { InferOutput } from "valibot";
import type { Principal } from "../../../http/principal.ts";
import { type Database, database } from "../../../db/client.ts";
import { withinBytes } from "../../../lib/bytes.ts";
import { CONNECTIONS, inParallel } from "../../../lib/parallel.ts";
import { Problem } from "../../../lib/problem.ts";
import { parse } from "../../../http/validate.ts";
import { uuidTime, toDay, parseTime } from "../../time.ts";
import { locateRuns } from "../../locate.ts";
import { maskFeedback } from "../../masking/masker.ts";
import { loadMasker } from "../../masking/store.ts";
import { projectById } from "../../projects/resolve.ts";
import { listPartitions } from "../../projects/partitions.ts";
import { tracePartition } from "../../stub.ts";
import type { PartitionIdentity, PartitionLocation, StoredFeedback } from "../../types.ts";
import { CreateFeedback } from "./schema.ts";
import { findFeedbackLocation, saveFeedbackLocation, type FeedbackLocation } from "./store.ts";

type FeedbackInput = InferOutput<typeof CreateFeedback>;

/** The most bytes of one feedback as JSON. Its row holds it once and its value twice more. */
const FEEDBACK_BYTES = 256 * 1024;

/**
 * Stores feedback. Feedback with the same id is replaced. 404 when its run or project is not known. `places` holds the
 * partitions of runs that the caller has already located.
 */
export async function createFeedback(
  env: Env,
  principal: Principal,
  body: unknown,
  places?: Map<string, PartitionLocation>,
): Promise<StoredFeedback> {
  const given = parse(CreateFeedback, body, "body");
  const db = database(env.DB);
  const { workspaceId } = principal;
  const id = given.id ?? crypto.randomUUID();
  const known = await findFeedbackLocation(db, workspaceId, id);
  const location = known ?? (await locateFeedback(env, db, workspaceId, given, places));
  const project = await projectById(db, workspaceId, location.projectId);
  if (!project) throw new Problem(404, "session_id: project not found.");
  const { projectId, day, shard } = location;
  const identity = { workspaceId, projectId, day, shard, traceTier: project.traceTier };
  const feedback = storedFeedback(id, given, projectId);
  return (await storeFeedback(env, identity, feedback)) ?? feedback;
}

/**
 * Writes feedback to its partition and its place to D1. Undefined when `asRead` is given and is not the time of the last
 * change of what is stored. 422 when the feedback is too large.
 */
export async function storeFeedback(
  env: Env,
  identity: PartitionIdentity,
  feedback: StoredFeedback,
  asRead?: string,
): Promise<StoredFeedback | undefined> {
  const { workspaceId, projectId, day, shard } = identity;
  const masked = maskFeedback(await loadMasker(env, workspaceId), feedback);
  withinBytes(masked, FEEDBACK_BYTES, "the feedback as a whole");
  const stored = await tracePartition(env, workspaceId, identity).putFeedback(identity, masked, asRead);
  if (!stored) return undefined;
  await saveFeedbackLocation(database(env.DB), { workspaceId, projectId, day, shard, ...toListed(stored) });
  return stored;
}

/** What lists of feedback select by. */
export function toListed(feedback: StoredFeedback) {
  return {
    id: feedback.id,
    runId: feedback.run_id,
    key: feedback.key,
    source: feedback.feedback_source.type,
    userId: feedback.feedback_source.user_id ?? null,
    hasScore: feedback.score !== null,
    hasComment: feedback.comment !== null,
    createdAt: Date.parse(feedback.created_at),
  };
}

async function locateFeedback(
  env: Env,
  db: Database,
  workspaceId: string,
  given: FeedbackInput,
  places?: Map<string, PartitionLocation>,
): Promise<PartitionLocation> {
  const runId = given.run_id ?? undefined;
  const projectId = given.session_id ?? undefined;
  if (runId === undefined) {
    if (projectId === undefined) throw new Problem(422, "Give run_id, or session_id for feedback on a whole project.");
    return { projectId, day: toDay(Date.now() * 1000), shard: 0 };
  }
  const start = parseTime(given.start_time);
  const known = places?.get(runId);
  if (known) return known;
  if (!places) {
    const found = (await locateRuns(env, db, workspaceId, [runId], projectId)).get(runId);
    if (found) return found;
  }
  // Feedback can come before its run when it says where the run will be.
  const time = start ?? uuidTime(runId);
  if (projectId !== undefined && time !== undefined) {
    const day = toDay(time);
    const shard = await chooseShard(env, db, workspaceId, { projectId, day }, given.trace_id ?? runId);
    return { projectId, day, shard };
  }
  throw new Problem(404, "Run not found. Send its trace first, or give session_id and start_time.");
}

/** The shard of a day that will hold a trace: the one that has its root, else shard 0, which then takes the trace. */
async function chooseShard(
  env: Env,
  db: Database,
  workspaceId: string,
  { projectId, day }: Omit<PartitionLocation, "shard">,
  traceId: string,
): Promise<number> {
  const places = await listPartitions(db, workspaceId, projectId, day, day);
  if (places.length < 2) return 0;
  const holders = await inParallel(places, CONNECTIONS, async (place) =>
    (await tracePartition(env, workspaceId, place).lookUp([traceId])).held.length > 0 ? [place.shard] : [],
  );
  return holders.flat()[0] ?? 0;
}

function storedFeedback(id: string, given: FeedbackInput, projectId: string): StoredFeedback {
  const now = new Date().toISOString();
  const created = parseTime(given.created_at);
  const source = given.feedback_source ?? { type: "api" };
  return {
    id,
    run_id: given.run_id ?? null,
    trace_id: given.trace_id ?? given.run_id ?? null,
    session_id: projectId,
    key: given.key,
    score: given.score ?? null,
    value: given.value ?? null,
    comment: given.comment ?? null,
    correction: given.correction ?? null,
    error: given.error ?? false,
    feedback_source: { ...source, metadata: source.metadata ?? undefined, user_id: source.user_id ?? undefined },
    feedback_config: given.feedback_config ?? null,
    feedback_group_id: given.feedback_group_id ?? null,
    comparative_experiment_id: given.comparative_experiment_id ?? null,
    extra: given.extra ?? null,
    created_at: created === undefined ? now : new Date(created / 1000).toISOString(),
    modified_at: now,
  };
}

/** Feedback per RPC. In UTF-16 it stays below the 32 MiB of an RPC message. */
const AT_ONCE = 50;

/** The feedback of these places, in their order. */
export async function loadFeedback(
  env: Env,
  workspaceId: string,
  places: FeedbackLocation[],
): Promise<StoredFeedback[]> {
  const groups = Map.groupBy(places, ({ projectId, day, shard }) => `${projectId}/${day}/${shard}`);
  const loaded = await Promise.all(
    [...groups.values()].map(async (group) => {
      const partition = tracePartition(env, workspaceId, group[0] as FeedbackLocation);
      const loaded: StoredFeedback[] = [];
      for (let i = 0; i < group.length; i += AT_ONCE) {
        loaded.push(...(await partition.getFeedback(group.slice(i, i + AT_ONCE).map(({ id }) => id))));
      }
      return loaded;
    }),
  );
  const byId = new Map(loaded.flat().map((item) => [item.id, item]));
  return places.flatMap(({ id }) => byId.get(id) ?? []);
}

/** Stores the operations of one request in their partitions. */
import type { Context } from "hono";
import { type Database, database } from "../../db/client.ts";
import type { Principal } from "../../http/principal.ts";
import { toProblem } from "../../lib/problem.ts";
import { type App, idempotentId } from "../../http/context.ts";
import { createFeedback } from "../review/feedback/create.ts";
import { locateRuns } from "../locate.ts";
import { DEFAULT_PROJECT, forgetProjects, projectById, projectByName } from "../projects/resolve.ts";
import { loadMasker } from "../masking/store.ts";
import type { PartitionLocation } from "../types.ts";
import type { ProjectRow } from "../projects/store.ts";
import { toDay } from "../time.ts";
import { type RunDraft, readRunDraft } from "./normalise.ts";
import { OperationGatherer, type IngestFault, type RunOperation } from "./operations.ts";
import { type Day, blobKeys, deleteStray, type Group, storeGroups, type Work } from "./stored.ts";

/** What a 202 says: SDKs read only the status, people read the rest. */
export interface IngestResponse {
  message: string;
  taken: number;
  rejected: number;
  /** What was not taken, or not as sent; at most 100 entries. */
  errors: IngestFault[];
}

/** The most project-days and projects of one request. A project-day takes an RPC, a project up to three queries to D1. */
const MAX_DAYS = 1_000;
const MAX_PROJECTS = 100;

/** Stores the operations of one request, in one or more pieces. */
export class Intake {
  readonly #taken = new Set<string>();
  readonly #projects = new Set<string>();
  readonly #days = new Set<string>();
  #feedback = 0;

  /** An intake whose runs are masked by the rules of the principal's workspace. */
  static async masked(env: Env, principal: Principal, batched = false, newId?: () => string): Promise<Intake> {
    return new Intake(
      env,
      principal,
      new OperationGatherer(await loadMasker(env, principal.workspaceId), newId),
      batched,
    );
  }

  /** `masked`, for a request: what it sends without an id has the same id when it is repeated under its Idempotency-Key. */
  static async begin(c: Context<App>): Promise<Intake> {
    let made = 0;
    return Intake.masked(c.env, c.get("principal"), false, () => idempotentId(c, String(made++)));
  }

  /** `batched`: the runs may share a transaction with later ones, which delays them by a tenth of a second. */
  constructor(
    private readonly env: Env,
    private readonly principal: Principal,
    readonly gathering: OperationGatherer,
    private readonly batched = false,
  ) {}

  /** Stores the gathered operations durably and notes faults. */
  async store(isEnd = false): Promise<void> {
    const db = database(this.env.DB);
    const { workspaceId } = this.principal;
    const work = this.gathering.drain(isEnd).flatMap((operation) => draftSafely(operation, this.gathering));
    let places = await locateVague(this.env, db, workspaceId, work);
    const stray: string[] = [];
    for (let left = work; left.length > 0;) {
      const groups = await this.#groupWork(left, places);
      const gone = await storeGroups(this.env, groups, this.batched);
      if (gone.length === 0) break;
      // A project that was deleted is read again: a name makes a new one, an id is refused.
      forgetProjects();
      places = new Map();
      stray.push(...blobKeys(gone));
      left = gone.map(({ operation, draft, blobs }) => ({ operation, draft: { ...draft, warnings: [] }, blobs }));
    }
    await deleteStray(this.env.BLOBS, stray);
  }

  async #groupWork(work: Work[], places: Map<string, PartitionLocation>): Promise<Group[]> {
    const groups = new Map<string, Group>();
    for (const item of work) {
      const key = `${item.operation.kind}.${item.operation.id}`;
      const day =
        this.#refusal(item) ?? (await dayFor(database(this.env.DB), this.principal.workspaceId, item, places));
      const group = typeof day === "string" ? day : this.#findGroup(groups, day);
      if (typeof group === "string") {
        this.gathering.fault(item.operation.id, group);
        this.#taken.delete(key);
        continue;
      }
      for (const message of item.draft.warnings) this.gathering.note(item.operation.id, message);
      group.work.push({ ...item, shard: places.get(item.draft.write.id)?.shard });
      this.#taken.add(key);
    }
    return [...groups.values()];
  }

  /** Stores the remaining operations and the feedback. Returns the answer. */
  async finish(): Promise<IngestResponse> {
    await this.store(true);
    this.#feedback += await takeFeedback(this.env, this.principal, this.gathering);
    const { rejected, faults } = this.gathering;
    const message = rejected === 0 ? "Runs batch ingested" : "Runs batch ingested in part: see errors";
    return { message, taken: this.#taken.size, rejected, errors: faults };
  }

  /** Whether all that was sent is rejected. */
  get isInVain(): boolean {
    return this.gathering.rejected > 0 && this.#taken.size === 0 && this.#feedback === 0;
  }

  #refusal({ draft: { project, refusal } }: Work): string | undefined {
    if (refusal !== undefined) return refusal;
    this.#projects.add(project.id ?? project.name ?? DEFAULT_PROJECT);
    if (this.#projects.size > MAX_PROJECTS) return `session_name: a request names at most ${MAX_PROJECTS} projects`;
    return undefined;
  }

  #findGroup(groups: Map<string, Group>, day: Day): Group | string {
    const key = `${day.projectId}/${day.day}`;
    this.#days.add(key);
    if (this.#days.size > MAX_DAYS) return `start_time: a request has runs of at most ${MAX_DAYS} projects and days`;
    const group = groups.get(key) ?? { day, work: [] };
    groups.set(key, group);
    return group;
  }
}

function draftSafely(operation: RunOperation, gathering: OperationGatherer): Work[] {
  try {
    return [{ operation, draft: readRunDraft(operation) }];
  } catch {
    gathering.fault(operation.id, "The run could not be read.");
    return [];
  }
}

/** Patches that say neither their project nor their time belong to a run that is known already. */
async function locateVague(
  env: Env,
  db: Database,
  workspaceId: string,
  work: Work[],
): Promise<Map<string, PartitionLocation>> {
  const posted = new Set(
    work.filter(({ operation }) => operation.kind === "post").map(({ operation }) => operation.id),
  );
  const vague = work.filter(({ operation, draft }) => isVague(draft, operation) && !posted.has(operation.id));
  if (vague.length === 0) return new Map();
  const ids = vague.flatMap(({ draft }) => [draft.write.id, ...(draft.write.trace_id ? [draft.write.trace_id] : [])]);
  return locateRuns(env, db, workspaceId, [...new Set(ids)]);
}

function isVague({ project, startIsCertain }: RunDraft, { kind }: RunOperation): boolean {
  return kind === "patch" && (!startIsCertain || (project.id === undefined && project.name === undefined));
}

/** The day that the run belongs to, or why it has none. */
async function dayFor(
  db: Database,
  workspaceId: string,
  { operation, draft }: Work,
  places: Map<string, PartitionLocation>,
): Promise<Day | string> {
  const known = places.get(draft.write.id);
  if (known) {
    const { projectId, day } = known;
    const { traceTier } = (await projectById(db, workspaceId, projectId)) ?? { traceTier: "longlived" as const };
    return { workspaceId, projectId, day, traceTier };
  }
  const trace = draft.write.trace_id === undefined ? undefined : places.get(draft.write.trace_id);
  const project = await resolveProject(db, workspaceId, draft, trace);
  if (!project) return "session_id: no such project in this workspace";
  const isLost = operation.kind === "patch" && draft.start === undefined;
  if (isLost) return "patch: its run is not known, and neither dotted_order nor start_time says when it started";
  return {
    workspaceId,
    projectId: project.id,
    day: toDay(draft.start ?? Date.now() * 1000),
    traceTier: project.traceTier,
  };
}

async function resolveProject(
  db: Database,
  workspaceId: string,
  { project }: RunDraft,
  trace: PartitionLocation | undefined,
): Promise<ProjectRow | undefined> {
  if (project.id !== undefined) {
    const found = await projectById(db, workspaceId, project.id);
    if (found || project.name === undefined) return found;
  }
  if (project.name !== undefined) return projectByName(db, workspaceId, project.name);
  if (trace) return projectById(db, workspaceId, trace.projectId);
  return projectByName(db, workspaceId, DEFAULT_PROJECT);
}

/**
 * Stores feedback in order, so that the last one with an id is kept. Returns how much. The runs are located once for all
 * feedback.
 */
async function takeFeedback(env: Env, principal: Principal, gathering: OperationGatherer): Promise<number> {
  if (gathering.feedback.length === 0) return 0;
  let taken = 0;
  const runIds = [...new Set(gathering.feedback.map(({ runId }) => runId))];
  const places = await locateRuns(env, database(env.DB), principal.workspaceId, runIds);
  for (const { runId, body } of gathering.feedback) {
    try {
      await createFeedback(env, principal, { ...body, run_id: runId }, places);
      taken++;
    } catch (error) {
      const { status, detail } = toProblem(error);
      if (status >= 500) throw error;
      gathering.fault(runId, `feedback: ${detail}`);
    }
  }
  return taken;
}

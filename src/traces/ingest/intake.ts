/** Stores the operations of one request in their partitions. */
import type { Context } from "hono";
import { database } from "../../db/client.ts";
import type { Principal } from "../../http/principal.ts";
import { toProblem } from "../../lib/problem.ts";
import { type App, idempotentId } from "../../http/context.ts";
import { createFeedback } from "../review/feedback/create.ts";
import { locateRuns, lookupIds } from "../locate.ts";
import { hashIds } from "../lookup/entries.ts";
import { type DayIds, traceIndex } from "../lookup/rpc.ts";
import { DEFAULT_PROJECT, forgetProjects } from "../projects/resolve.ts";
import { loadMasker } from "../masking/store.ts";
import { readRunDraft } from "./normalise.ts";
import { OperationGatherer, type IngestFault, type RunOperation } from "./operations.ts";
import { placeWork } from "./placing.ts";
import { awaitPost, awaitStoring, LOOKS, readWaiting, settleWaiting } from "./waiting.ts";
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
/** Waiting patches that are read and stored at once. */
const AWAITED_AT_ONCE = 100;
const AWAITS = "patch: its run is not known yet. It waits an hour for its post, then it is dropped";
const FULL = "patch: its run is not known, and too many patches wait for their posts";
const DROPPED = "its project was deleted; it was dropped";
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
    const stray: string[] = [];
    const awaited: string[] = [];
    let left = this.gathering.drain(isEnd).flatMap((operation) => draftSafely(operation, this.gathering));
    for (let look = 1; left.length > 0 || awaited.length > 0; look++) {
      const { groups, again } = await this.#groupWork(left, look);
      awaited.push(...(await this.#register(groups)).filter((key) => !awaited.includes(key)));
      const gone = await storeGroups(this.env, groups, this.batched);
      // A project that was deleted is read again: a name makes a new one, an id is refused.
      if (gone.length > 0) forgetProjects();
      stray.push(...blobKeys(gone));
      const isGone = new Set(gone.map(({ operation }) => operation));
      const stored = groups.flatMap(({ work }) => work).filter(({ operation }) => !isGone.has(operation));
      await settleWaiting(
        this.env,
        this.principal.workspaceId,
        stored.flatMap(({ awaited: key }) => key ?? []),
      );
      left = [
        ...gone.map((item) => ({ ...item, shard: undefined, draft: { ...item.draft, warnings: [] } })),
        ...again,
        ...(await readWaiting(this.env, awaited.splice(0, AWAITED_AT_ONCE))),
      ];
      if (again.length > 0) await awaitStoring(look);
    }
    await deleteStray(this.env.BLOBS, stray);
  }

  /** The work by its days. `again`: patches whose posts are about to be stored, by another request. */
  async #groupWork(work: Work[], look: number): Promise<{ groups: Group[]; again: Work[] }> {
    const groups = new Map<string, Group>();
    const again: Work[] = [];
    const { workspaceId } = this.principal;
    const placements = await placeWork(this.env, workspaceId, work);
    for (const [item, placement] of placements) {
      const { operation, draft } = item;
      if (placement === "drops") await this.#drop([item]);
      else if (placement === "awaits") {
        if (item.awaited !== undefined) continue;
        const taken = await awaitPost(this.env, workspaceId, item, look >= LOOKS);
        if (taken === "known") again.push(item);
        else if (taken === "waits") this.gathering.note(operation.id, AWAITS);
        else this.#refuse(item, FULL);
      } else {
        const group = "refusal" in placement ? placement.refusal : this.#findGroup(groups, item, placement.day);
        if (typeof group === "string") {
          this.#refuse(item, group);
          continue;
        }
        for (const message of draft.warnings) this.gathering.note(operation.id, message);
        group.work.push({ ...item, shard: "shard" in placement ? placement.shard : undefined });
        if (item.awaited === undefined) this.#taken.add(`${operation.kind}.${operation.id}`);
      }
    }
    return { groups: [...groups.values()], again };
  }

  #refuse({ operation: { kind, id }, awaited }: Work, message: string): void {
    if (awaited !== undefined) return;
    this.gathering.fault(id, message);
    this.#taken.delete(`${kind}.${id}`);
  }

  async #drop(work: Work[]): Promise<void> {
    for (const { operation } of work) this.gathering.note(operation.id, DROPPED);
    await traceIndex(this.env, this.principal.workspaceId).countDropped(work.length);
  }

  /** Registers the ids of runs that are about to be stored, and takes out what is late of deleted projects. Gives the keys of the patches that have waited for these runs. */
  async #register(groups: Group[]): Promise<string[]> {
    if (groups.length === 0) return [];
    const ids = groups.map(({ work }) => [...new Set(work.flatMap(({ draft }) => lookupIds(draft.write)))]);
    const begun = new Set(groups.flatMap(({ work }) => work.filter(isRootPost).map(({ operation }) => operation.id)));
    const days = groups.map(({ day: { projectId, day } }, at): DayIds => {
      const own = ids[at] ?? [];
      return {
        projectId,
        day,
        hashes: hashIds(own),
        begun: [...own.keys()].filter((place) => begun.has(own[place] ?? "")),
      };
    });
    const { deleted, awaited } = await traceIndex(this.env, this.principal.workspaceId).register(days);
    const isDeleted = new Set(deleted.flatMap((own, at) => own.flatMap((id) => ids[at]?.[id] ?? [])));
    if (isDeleted.size > 0) {
      const isLate = (item: Work) => {
        const anchors = lookupIds(item.draft.write);
        return anchors.some((id) => isDeleted.has(id)) && !anchors.some((id) => begun.has(id));
      };
      for (const group of groups) {
        await this.#drop(group.work.filter(isLate));
        group.work = group.work.filter((item) => !isLate(item));
      }
    }
    const own = new Set(groups.flatMap(({ work }) => work.flatMap(({ awaited: key }) => key ?? [])));
    return awaited.filter((key) => !own.has(key)).toSorted();
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

  #findGroup(groups: Map<string, Group>, { draft: { project } }: Work, day: Day): Group | string {
    const name = project.id ?? project.name ?? DEFAULT_PROJECT;
    if (this.#projects.size === MAX_PROJECTS && !this.#projects.has(name))
      return `session_name: a request names at most ${MAX_PROJECTS} projects`;
    const key = `${day.projectId}/${day.day}`;
    if (this.#days.size === MAX_DAYS && !this.#days.has(key))
      return `start_time: a request has runs of at most ${MAX_DAYS} projects and days`;
    this.#projects.add(name);
    this.#days.add(key);
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

/** A root's post: it may begin a trace again whose project was deleted. */
function isRootPost({ operation, draft: { write } }: Work): boolean {
  return operation.kind === "post" && lookupIds(write).every((id) => id === write.id);
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

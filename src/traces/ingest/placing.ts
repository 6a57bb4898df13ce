/** Which project and day each run of a request belongs to, also when its sender names neither. */
import { database } from "../../db/client.ts";
import { lookupIds, lookUpRuns, type LookUp } from "../locate.ts";
import { DEFAULT_PROJECT, existingProject, projectById, projectByName } from "../projects/resolve.ts";
import type { ProjectRow } from "../projects/store.ts";
import { toDay } from "../time.ts";
import type { PartitionLocation } from "../types.ts";
import type { Day, Work } from "./stored.ts";

/** `day`: where the run goes. `awaits`: its run is nowhere. `drops`: it is late, and its project was deleted. */
export type Placement = { day: Day; shard?: number } | { refusal: string } | "awaits" | "drops";

const NO_PROJECT = "session_id: no such project in this workspace";

/**
 * Places the operations of a request. A run that names no project is where its id, trace or parent is, in the request or in the
 * workspace. Only a post may begin in the project `default`, or make the project that it names: a patch of a run that is nowhere waits.
 */
export async function placeWork(env: Env, workspaceId: string, work: Work[]): Promise<Map<Work, Placement>> {
  const db = database(env.DB);
  const isPost = ({ operation }: Work) => operation.kind === "post";
  const posts = new Map(work.filter(isPost).map((item) => [item.operation.id, item]));
  const named = new Map<Work, ProjectRow | undefined>();
  // Posts first, so that a patch finds the project that its post makes.
  for (const item of [...posts.values(), ...work.filter((one) => !isPost(one))])
    named.set(item, await namedProject(item));
  const vague = work.filter((item) => isVague(item) && refusalOf(item) === undefined);
  const ids = [...new Set(vague.flatMap(({ draft }) => lookupIds(draft.write)))];
  const known: LookUp = await lookUpRuns(env, db, workspaceId, ids);
  const placements = new Map<Work, Placement>();
  for (const item of work) await place(item);
  return placements;

  /** The project that an operation names. A patch makes none. */
  async function namedProject({ operation, draft: { project } }: Work): Promise<ProjectRow | undefined> {
    const byId = project.id === undefined ? undefined : await projectById(db, workspaceId, project.id);
    if (byId || project.name === undefined) return byId;
    return operation.kind === "post"
      ? projectByName(db, workspaceId, project.name)
      : existingProject(db, workspaceId, project.name);
  }

  function refusalOf(item: Work): string | undefined {
    const { refusal, project } = item.draft;
    const isUnknown = project.id !== undefined && project.name === undefined && named.get(item) === undefined;
    return refusal ?? (isUnknown ? NO_PROJECT : undefined);
  }

  function isVague(item: Work): boolean {
    const { operation, draft } = item;
    if (named.get(item) === undefined) return true;
    return operation.kind === "patch" && !draft.startIsCertain && !posts.has(operation.id);
  }

  async function place(item: Work): Promise<Placement> {
    const placed = placements.get(item) ?? (await findPlacement(item));
    placements.set(item, placed);
    return placed;
  }

  async function findPlacement(item: Work): Promise<Placement> {
    const refusal = refusalOf(item);
    if (refusal !== undefined) return { refusal };
    const { operation, draft } = item;
    const project = named.get(item);
    if (!isVague(item) && (draft.startIsCertain || operation.kind === "post"))
      return { day: dayOf(project as ProjectRow, draft.start ?? Date.now() * 1000) };
    const own = posts.get(operation.id);
    if (own && own !== item) return place(own);
    const anchors = lookupIds(draft.write);
    const isHere = (location: PartitionLocation | undefined) =>
      location !== undefined && (project === undefined || location.projectId === project.id);
    // The partition of a deletion drops what comes late of it.
    const location = [known.held.get(operation.id), ...anchors.map((id) => known.deleted.get(id))].find(isHere);
    const held = location && (await projectById(db, workspaceId, location.projectId));
    if (location && held)
      return {
        day: { workspaceId, projectId: held.id, day: location.day, traceTier: held.traceTier },
        shard: location.shard,
      };
    const home = project ?? (await projectOfTrace(anchors));
    if (home && draft.start !== undefined) return { day: dayOf(home, draft.start) };
    const isRoot = operation.kind === "post" && anchors.every((id) => id === operation.id);
    if (!home && !isRoot && anchors.some((id) => known.ofDeletedProjects.has(id))) return "drops";
    if (operation.kind === "patch") return "awaits";
    return { day: dayOf(home ?? (await projectByName(db, workspaceId, DEFAULT_PROJECT)), Date.now() * 1000) };
  }

  /** The project of the run's trace or parent, in the workspace or in the request. */
  async function projectOfTrace(anchors: string[]): Promise<ProjectRow | undefined> {
    for (const id of anchors) {
      const location = known.held.get(id) ?? known.traces.get(id);
      const found = location && (await projectById(db, workspaceId, location.projectId));
      if (found) return found;
    }
    return anchors
      .map((id) => posts.get(id))
      .map((post) => post && named.get(post))
      .find((one) => one !== undefined);
  }

  function dayOf({ id, traceTier }: ProjectRow, start: number): Day {
    return { workspaceId, projectId: id, day: toDay(start), traceTier };
  }
}

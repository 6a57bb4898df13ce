/** The project of a run: found by id or name, and created on first use. */
import type { Database } from "../../db/client.ts";
import { RowCache } from "../../lib/cache.ts";
import { findProject, findProjectByName, insertProject, type ProjectRow } from "./store.ts";
import { remoteProblem } from "../../lib/problem.ts";

/** Where runs go that name no project. */
export const DEFAULT_PROJECT = "default";

const known = new RowCache<ProjectRow>();

/** The project with this id, or undefined when the workspace has none. */
export async function projectById(db: Database, workspaceId: string, id: string): Promise<ProjectRow | undefined> {
  return known.get(`${workspaceId} id ${id}`, () => findProject(db, workspaceId, id));
}

/** The project of this name, made if there is none. */
export async function projectByName(db: Database, workspaceId: string, name: string): Promise<ProjectRow> {
  const project = await known.get(`${workspaceId} name ${name}`, async () => {
    const found = await findProjectByName(db, workspaceId, name);
    // Two requests may make it at once: the loser reads the winner's.
    return (
      found ?? (await insertProject(db, newProject(workspaceId, name))) ?? findProjectByName(db, workspaceId, name)
    );
  });
  if (!project) throw new Error("The project was deleted while it was being made.");
  return project;
}

/** The project of this name, or undefined when there is none. */
export async function existingProject(
  db: Database,
  workspaceId: string,
  name: string,
): Promise<ProjectRow | undefined> {
  return known.get(`${workspaceId} name ${name}`, () => findProjectByName(db, workspaceId, name));
}

/** The row of a project that is about to be made. */
export function newProject(workspaceId: string, name: string, given: Partial<ProjectRow> = {}): ProjectRow {
  return {
    id: crypto.randomUUID(),
    description: null,
    referenceDatasetId: null,
    defaultDatasetId: null,
    traceTier: "longlived",
    retentionDays: null,
    legalHold: false,
    extra: {},
    startTime: Date.now(),
    endTime: null,
    ...given,
    workspaceId,
    name,
  };
}

/** To be called when projects change or go. Other isolates notice within five seconds. */
export function forgetProjects(): void {
  known.forget();
}

// How a partition answers a write when its project was deleted. Ingest then reads the project again (resolve.ts caches it).

/** 404. */
export function projectNotFound(): Error {
  return remoteProblem(404, "session_id: project not found.");
}

export function isProjectNotFound(error: unknown): boolean {
  return error instanceof Error && error.message === projectNotFound().message;
}

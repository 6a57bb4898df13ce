/** How a partition answers a write when its project was deleted. Ingest then reads the project again (resolve.ts caches it). */
import { remoteProblem } from "../../lib/problem.ts";

/** 404. */
export function projectGone(): Error {
  return remoteProblem(404, "session_id: project not found.");
}

export function isProjectGone(error: unknown): boolean {
  return error instanceof Error && error.message === projectGone().message;
}

/** Deleting projects with their traces, however many days they have. */
import { database } from "../../db/client.ts";
import { CONNECTIONS, inParallel } from "../../http/parallel.ts";
import { Problem } from "../../http/problem.ts";
import { tracePartition } from "../rpc.ts";
import { deleteProject, someDays } from "../store.ts";
import { forgetProjects } from "./resolve.ts";

const PAGE = 100;

/**
 * Deletes the projects of these ids, and their traces first: while a day is left, the project is there to be deleted again.
 * `most`: the project-days of one request. Each is a call to an object, of which a request may make 10,000.
 * @throws Problem 503 when days are left after that; the same request goes on with them.
 */
export async function destroyProjects(env: Env, workspaceId: string, ids: string[], most = 1_000): Promise<void> {
  const db = database(env.DB);
  let left = most;
  for (const projectId of ids) {
    for (;;) {
      const days = await someDays(db, workspaceId, projectId, Math.max(1, Math.min(PAGE, left)));
      if (days.length === 0) break;
      if (left <= 0) {
        throw new Problem(
          503,
          "The traces of many days have been deleted, and more are left. Send the request again.",
          {
            headers: { "retry-after": "1" },
          },
        );
      }
      await inParallel(days, CONNECTIONS, (day) =>
        tracePartition(env, workspaceId, projectId, day).destroy({ workspaceId, projectId, day }),
      );
      left -= days.length;
    }
    await deleteProject(db, workspaceId, projectId);
  }
  forgetProjects();
}

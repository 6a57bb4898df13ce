/** Deletes projects with their traces. */
import { database } from "../../db/client.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { Problem } from "../../lib/problem.ts";
import { removeTraceItems } from "../store/annotation-store.ts";
import { tracePartition } from "../stub.ts";
import { deleteRulesOfProject } from "../store/rule-store.ts";
import { deleteSharesOfProject } from "../review/share/store.ts";
import { somePartitions } from "./partitions.ts";
import { deleteProject } from "./store.ts";
import { forgetProjects } from "./resolve.ts";

const PAGE = 100;

/**
 * Deletes the traces of these projects, then the projects. `most` is the number of partitions of one request; each takes an
 * RPC, and a request may make 10,000 calls.
 * @throws Problem 503 when partitions are left. The client sends the same request again.
 */
export async function destroyProjects(env: Env, workspaceId: string, ids: string[], most = 1_000): Promise<void> {
  const db = database(env.DB);
  let left = most;
  for (const projectId of ids) {
    for (;;) {
      const places = await somePartitions(db, workspaceId, projectId, Math.max(1, Math.min(PAGE, left)));
      if (places.length === 0) {
        await deleteSharesOfProject(db, workspaceId, projectId);
        await removeTraceItems(db, workspaceId, projectId);
        await deleteRulesOfProject(db, workspaceId, projectId);
        if (await deleteProject(db, workspaceId, projectId)) break;
        continue;
      }
      if (left <= 0) {
        throw new Problem(
          503,
          "The traces of many days have been deleted, and more are left. Send the request again.",
          {
            headers: { "retry-after": "1" },
          },
        );
      }
      await inParallel(places, CONNECTIONS, ({ day, shard }) => {
        const place = { projectId, day, shard };
        return tracePartition(env, workspaceId, place).destroy({ workspaceId, ...place });
      });
      left -= places.length;
    }
  }
  forgetProjects();
}

/** How long a project keeps its runs, and whether it may lose any. */
import { database } from "../../db/client.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { Problem } from "../../lib/problem.ts";
import { tracePartition } from "../stub.ts";
import { allPlaces } from "./partitions.ts";
import type { ProjectRow } from "./store.ts";

/** @throws Problem 409 when the project is on legal hold. */
export function refuseHeld(legalHold: boolean): void {
  if (legalHold)
    throw new Problem(
      409,
      "The project is on legal hold: nothing of it can be deleted. Set legal_hold to false first.",
    );
}

/**
 * Has every partition of the project compare its age with the project's retention. A partition sets its alarm for the end of
 * its days when it is written, and would not learn of a shorter retention before. It also stores the project's tier.
 */
export async function checkExpiry(env: Env, { workspaceId, id, traceTier }: ProjectRow): Promise<void> {
  const places = await allPlaces(database(env.DB), workspaceId, id);
  await inParallel(places, CONNECTIONS, (place) => tracePartition(env, workspaceId, place).checkExpiry(traceTier));
}

/** Weir's own traces: the runs of its graphs go through the same ingest as everybody's, in process. */
import { Gathering } from "./ingest/operations.ts";
import { take } from "./ingest/take.ts";

/** The project of a deployment's own traces, when it names none. */
const PROJECT = "default";

/** Where a run's trace goes; undefined when the deployment wants none (TRACE_PROJECT set to nothing). */
export function ownProject(env: Env, perRun: string | undefined): string | undefined {
  if (env.TRACE_PROJECT === "") return undefined;
  return perRun || env.TRACE_PROJECT || PROJECT;
}

/** Stores trace runs of a workspace. Doing it again changes nothing, so an outbox can repeat it. */
export async function storeOwnRuns(env: Env, workspaceId: string, runs: unknown[]): Promise<void> {
  const gathering = new Gathering();
  for (const run of runs) gathering.addRun("post", run);
  await take(env, { workspaceId, scopes: ["write"], kind: "admin", credentialId: "self" }, gathering);
}

/** Deletes a run of a thread. */
import type { ThreadContext } from "../context.ts";
import { removeRun } from "../state/prune.ts";
import type { Outbox } from "./outbox.ts";
import type { Runner } from "./runner.ts";

/** Stops the run if it is open, and deletes it once the outbox does not need it. False when there is none. */
export async function deleteRun(
  context: ThreadContext,
  runner: Runner,
  outbox: Outbox,
  runId: string,
): Promise<boolean> {
  if (!context.run(runId)) return false;
  if (runner.open.some((run) => run.id === runId)) {
    runner.stop(runId, "interrupt");
    await runner.ended(runId);
  }
  while (!outbox.isSealed(runId)) await outbox.seal(runId);
  await removeRun(context, runId, () => runner.busy);
  await context.project(runner);
  return true;
}

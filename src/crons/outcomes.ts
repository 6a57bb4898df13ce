/** The states of firings as they are now. The ledger records the end of a run up to 15 minutes later. */
import { forEach } from "../threads/requests/fan-out.ts";
import type { toWireFiring } from "./cron.ts";
import { threadsFor } from "./start.ts";

type WireFiring = ReturnType<typeof toWireFiring>;

/** The most runs that one answer looks up. */
const MOST = 50;

/** The firings, those whose run has ended in the meantime with its outcome. */
export async function readOutcomes(env: Env, workspaceId: string, firings: WireFiring[]): Promise<WireFiring[]> {
  const threads = threadsFor(env);
  const running = firings.filter(({ state }) => state === "running").slice(0, MOST);
  const outcomes = await forEach(running, async ({ thread_id: threadId, run_id: runId }) => {
    return [runId, await threads.outcome(workspaceId, { threadId, runId })] as const;
  });
  const ended = new Map(outcomes);
  return firings.map((firing) => ({ ...firing, state: ended.get(firing.run_id) ?? firing.state }));
}

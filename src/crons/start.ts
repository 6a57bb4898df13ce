/** A firing's run, on the thread that runs it. */
import { readConfigurable, runRequest } from "../threads/api/request.ts";
import { threadStub } from "../threads/remote.ts";
import type { StoredWebhook } from "../deliveries/receiver.ts";
import type { RunCreate } from "../threads/api/schema.ts";
import type { FiringIds, Threads } from "../automation/crons/fire.ts";
import type { CronRow } from "../automation/crons/store.ts";
import { openCron } from "./sealed.ts";
import { cronPrincipal } from "./user.ts";

/** What a firing does to the deployment's threads. */
export function threadsFor(env: Env): Threads {
  return {
    start: (cron, ids) => start(env, cron, ids),
    exists: async (workspaceId, threadId) => Boolean(await threadStub(env, workspaceId, threadId).get()),
    async outcome(workspaceId, { threadId, runId }) {
      const run = await threadStub(env, workspaceId, threadId).getRun(runId);
      if (run?.status === "pending" || run?.status === "running") return undefined;
      return run?.status === "error" || run?.status === "timeout" ? "failed" : "ended";
    },
    remove: async (workspaceId, threadId) => threadStub(env, workspaceId, threadId).removeIdle(),
  };
}

async function start(env: Env, row: CronRow, { threadId, runId }: FiringIds): Promise<void> {
  const cron = await openCron(env, row);
  const body = {
    ...cron.payload,
    assistant_id: cron.assistantId,
    metadata: { ...cron.metadata, cron_id: cron.id },
    if_not_exists: cron.threadId === null ? "create" : "reject",
  };
  const principal = await cronPrincipal(env, cron);
  const by = { env, principal, configurable: readConfigurable(new Headers(), principal) };
  // Each firing checks again whether its user may run the assistant there.
  const request = await runRequest(by, threadId, body as unknown as RunCreate, runId);
  const { own_webhook } = cron.payload as StoredWebhook;
  await threadStub(env, cron.workspaceId, threadId).startRun({ ...request, own_webhook });
}

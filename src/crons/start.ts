/** A firing's run, on the thread that runs it. */
import { resolveAssistant } from "../assistants/store.ts";
import { database } from "../db/client.ts";
import { Problem } from "../http/problem.ts";
import { runRequest } from "../threads/request.ts";
import { threadStub } from "../threads/rpc.ts";
import type { RunCreate } from "../threads/run-schema.ts";
import type { FiringIds, Threads } from "./fire.ts";
import type { CronRow } from "./store.ts";

/** What a firing does to the deployment's threads. */
export function threadsOf(env: Env): Threads {
  return {
    start: (cron, ids) => start(env, cron, ids),
    async clear(workspaceId, { threadId, runId }) {
      const thread = threadStub(env, workspaceId, threadId);
      const run = await thread.getRun(runId);
      if (run && (run.status === "pending" || run.status === "running")) return false;
      await thread.remove();
      return true;
    },
  };
}

async function start(env: Env, cron: CronRow, { threadId, runId }: FiringIds): Promise<void> {
  const assistant = await resolveAssistant(database(env.DB), cron.workspaceId, cron.assistantId);
  if (!assistant) throw new Problem(404, "The assistant of this cron is gone.");
  const body = {
    ...cron.payload,
    metadata: { ...cron.metadata, cron_id: cron.id },
    if_not_exists: cron.threadId === null ? "create" : "reject",
  };
  const request = runRequest(body as unknown as RunCreate, assistant, userOf(cron), runId);
  await threadStub(env, cron.workspaceId, threadId).startRun(request);
}

/** Whose cron it is, as far as its graph can know: credentials are not kept. */
function userOf({ userId }: CronRow): Record<string, unknown> {
  return userId === null ? {} : { user_id: userId, langgraph_auth_user_id: userId };
}

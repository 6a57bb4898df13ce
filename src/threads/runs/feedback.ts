/** Links by which people give feedback on a run that has just ended. */
import { logError } from "../../lib/log.ts";
import type { Tracer } from "../../runtime/tracer.ts";
import { feedbackLinks, ownProject } from "../../traces/own-runs.ts";
import type { ThreadContext } from "../context.ts";
import type { StoredRun } from "../run.ts";

/**
 * `{<key>: url}` when the run requests links and leaves a trace. Never throws: an error of the links must not fail the
 * run.
 */
export async function listRunFeedback(
  { env, workspaceId, threadId }: ThreadContext,
  run: StoredRun,
  tracer: Tracer | undefined,
): Promise<Record<string, string> | undefined> {
  const { feedback_keys: keys = [], origin, langsmith_tracer } = run.request;
  const project = ownProject(env, langsmith_tracer?.project_name);
  const began = tracer?.began;
  if (keys.length === 0 || origin === undefined || project === undefined || began === undefined) return undefined;
  try {
    return await feedbackLinks(env, workspaceId, { id: run.id, project, began }, { keys, origin });
  } catch (error) {
    logError(error, { thread: threadId, while: "making links for feedback" });
    return undefined;
  }
}

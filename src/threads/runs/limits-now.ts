/** The rules of flow control and the budgets that are in force now, for a run that the thread makes itself. */
import { budgetsFor } from "../../limits/budgets/claim.ts";
import { knownBudgets } from "../../limits/budgets/rpc.ts";
import { settings } from "../../config.ts";
import { flowFor, modelIn, type RunFacts } from "../../limits/flow/claim.ts";
import { knownRules } from "../../limits/flow/rpc.ts";
import type { ThreadContext } from "../context.ts";
import type { RunRequest } from "../rpc.ts";

/** The request with what is in force. The run from which it was taken may have asked its question weeks ago. */
export async function withLimitsNow(
  { env, workspaceId, threadId }: ThreadContext,
  request: RunRequest,
): Promise<RunRequest> {
  const [rules, { budgets }] = await Promise.all([knownRules(env, workspaceId), knownBudgets(env, workspaceId)]);
  const facts = collectFacts(threadId, request);
  return {
    ...request,
    flow: flowFor(settings.flow, rules, facts),
    budgets: budgetsFor(settings.budgets, budgets, facts),
  };
}

/** What rules read of the run, from its request. */
export function collectFacts(threadId: string, request: RunRequest): RunFacts {
  const { assistant_id, graph_id, assistant, config, context, configurable, metadata } = request;
  const user = configurable?.langgraph_auth_user_id;
  return {
    threadId,
    assistantId: assistant_id,
    graphId: graph_id,
    user: typeof user === "string" ? user : undefined,
    model: modelIn([context, config?.configurable, assistant.context, assistant.config.configurable]),
    metadata: { ...assistant.metadata, ...metadata },
  };
}

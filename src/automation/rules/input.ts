/** From a request for a rule to its row. */
import {
  openReceivers,
  type ReceiverSecrets,
  sealReceivers,
  findStoredReceivers,
  keepIds,
  LOST_SECRETS,
  resolveHeaders,
  resolveSecret,
} from "../../deliveries/receiver.ts";
import type { RuleRow } from "./store.ts";
import type { Context } from "hono";
import { requirePermission } from "../../access/auth/roles.ts";
import { EXTENSIONS, type RuleJudge, type RuleJudgeModel, type RuleActions } from "./table.ts";
import { addressFault, webhookFault } from "../../http/addresses.ts";
import { assistantToRun } from "../../agents/assistants/store.ts";
import { CONNECTIONS, inParallel } from "../../lib/parallel.ts";
import { canonicalJson } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { uuidv7 } from "../../lib/uuid.ts";
import type { App } from "../../http/context.ts";
import { existingDataset } from "../../traces/review/datasets/store.ts";
import { checkFilters, readableFault, requireReadable } from "../../traces/partition/read/condition.ts";
import { projectById } from "../../traces/projects/resolve.ts";
import { existingQueue } from "../../traces/review/queues/items.ts";
import { projectExports } from "../../deployment.ts";
import { database } from "../../db/client.ts";
import type { RuleBody, Structured } from "./schema.ts";

// What the webhooks and judges of a rule have that is not shown.

const sealPurpose = (ruleId: string) => `run rule ${ruleId}`;

export async function sealRuleSecrets(
  env: Env,
  { id, workspaceId }: Pick<RuleRow, "id" | "workspaceId">,
  secrets: ReceiverSecrets,
): Promise<string | null> {
  return sealReceivers(env, workspaceId, secrets, sealPurpose(id));
}

export async function openRuleSecrets(env: Env, { id, workspaceId, secrets }: RuleRow): Promise<ReceiverSecrets> {
  return openReceivers(env, workspaceId, secrets, sealPurpose(id));
}

/** Why the filters of a rule cannot be applied as things are; undefined when they can. */
export async function filterFault(
  env: Env,
  { workspaceId, filter, traceFilter, treeFilter }: RuleRow,
  isFresh = false,
): Promise<string | undefined> {
  return readableFault(env, workspaceId, [filter, traceFilter, treeFilter], isFresh);
}

/**
 * Why a rule cannot do all that it should, in sentences for its owner; null when it can. `names`: those of what it refers to, null for
 * what is deleted.
 */
export async function ruleFault(
  env: Env,
  rule: RuleRow,
  secrets: ReceiverSecrets,
  names: { queue: string | null; dataset: string | null },
): Promise<string | null> {
  const { queueId, datasetId, code = [], judges = [] } = rule.actions;
  const unknown = code.find((name) => projectExports.evaluators?.[name] === undefined);
  const missing = await inParallel(judges, CONNECTIONS, async ({ model }) =>
    model.provider === "assistant" && !(await assistantToRun(database(env.DB), rule.workspaceId, model.assistant_id))
      ? [`The assistant ${model.assistant_id} no longer exists.`]
      : [],
  );
  const faults = [
    (await filterFault(env, rule)) ?? [],
    secrets.isLost ? LOST_SECRETS : [],
    queueId !== undefined && names.queue === null ? "The annotation queue no longer exists." : [],
    datasetId !== undefined && names.dataset === null ? "The dataset no longer exists." : [],
    unknown === undefined ? [] : `The deployment has no evaluator ${unknown}.`,
    ...missing,
  ].flat();
  return faults.length === 0 ? null : faults.join(" ");
}

/** The model of a judge that names none. */
const DEFAULT_MODEL: RuleJudgeModel = { provider: "workers-ai", model: "@cf/meta/llama-3.3-70b-instruct-fp8-fast" };

/** What a judge answers whose rule gives no schema. */
const DEFAULT_SCHEMA = {
  type: "object",
  properties: { score: { type: "number", minimum: 0, maximum: 1 }, comment: { type: "string" } },
  required: ["score"],
};

/**
 * The columns that a request sets. Each action needs the permission of what it does.
 * @throws Problem 404 for a project, dataset or queue that is not there, 422 for an address that is not allowed.
 */
export async function toRuleRow(
  c: Context<App>,
  given: RuleBody,
  id: string,
  before?: RuleRow,
): Promise<
  Pick<
    RuleRow,
    | "projectId"
    | "name"
    | "filter"
    | "traceFilter"
    | "treeFilter"
    | "samplingRate"
    | "isEnabled"
    | "actions"
    | "secrets"
  >
> {
  const principal = c.get("principal");
  const { workspaceId } = principal;
  requirePermission(principal, "traces.read");
  const { session_id: projectId = "", filter, trace_filter, tree_filter } = given;
  if (!(await projectById(database(c.env.DB), workspaceId, projectId)))
    throw new Problem(404, "session_id: project not found.");
  const filters = [filter, trace_filter, tree_filter].map((text) => text || undefined);
  checkFilters(filters);
  await requireReadable(c.env, workspaceId, filters);
  const asked = await toRuleActions(c, given);
  const { secrets, actions } = await keepReceivers(c.env, { id, workspaceId, actions: asked }, given, before);
  return {
    projectId,
    name: given.display_name,
    filter: filters[0] ?? null,
    traceFilter: filters[1] ?? null,
    treeFilter: filters[2] ?? null,
    samplingRate: given.sampling_rate,
    isEnabled: given.is_enabled,
    actions,
    secrets,
  };
}

async function toRuleActions(c: Context<App>, given: RuleBody): Promise<RuleActions> {
  const principal = c.get("principal");
  const allowPrivate = c.env.ALLOW_PRIVATE_ADDRESSES === "true";
  const { add_to_annotation_queue_id: queueId, add_to_dataset_id: datasetId, code_evaluators, webhooks } = given;
  if (queueId !== undefined) {
    requirePermission(principal, "queues.write");
    await existingQueue(c, queueId);
  }
  if (datasetId !== undefined) {
    requirePermission(principal, "datasets.write");
    await existingDataset(c, datasetId);
  }
  const code = code_evaluators?.map(({ code: name }) => name) ?? [];
  const judges = given.evaluators?.map(({ structured }) => toJudge(structured)) ?? [];
  if (code.length + judges.length > 0) requirePermission(principal, "traces.annotate");
  const known = Object.keys(projectExports.evaluators ?? {});
  const unknown = code.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Problem(
      422,
      `Invalid body.code_evaluators: code names an evaluator of the deployment's code: ${known.join(", ") || "it has none"}. docs/rules.md says how to add one.`,
    );
  }
  for (const { model } of judges) {
    if (model.provider === "assistant") requirePermission(principal, "runs.create");
    const fault = model.provider === "openai" && model.base_url && addressFault(model.base_url, allowPrivate);
    if (fault) throw new Problem(422, `Invalid body.evaluators: base_url ${fault}`);
  }
  for (const { url } of webhooks ?? []) {
    const fault = webhookFault(url, allowPrivate);
    if (fault) throw new Problem(422, `Invalid body.webhooks: url ${fault}`);
  }
  const extend = EXTENSIONS.filter((name) => given[name] === true);
  return {
    ...(extend.length > 0 && { extend }),
    ...(queueId !== undefined && { queueId }),
    ...(datasetId !== undefined && { datasetId }),
    ...(code.length > 0 && { code }),
    ...(judges.length > 0 && { judges }),
    ...(webhooks && webhooks.length > 0 && { webhooks: webhooks.map(({ url }) => ({ id: uuidv7(), url })) }),
  };
}

function toJudge({ prompt, template_format, schema, variable_mapping, model }: Structured): RuleJudge {
  return {
    id: uuidv7(),
    prompt,
    format: template_format ?? "f-string",
    variables: variable_mapping ?? {},
    schema: schema ?? DEFAULT_SCHEMA,
    model: toJudgeModel(model),
  };
}

function toJudgeModel(model: Structured["model"]): RuleJudgeModel {
  if (model === undefined) return DEFAULT_MODEL;
  if ("kwargs" in model) {
    const { model: named, model_name, temperature, base_url, openai_api_base } = model.kwargs;
    const address = base_url ?? openai_api_base;
    const name = named ?? model_name;
    if (name === undefined) throw new Problem(422, "Invalid body.evaluators: kwargs.model is required.");
    return {
      provider: "openai",
      model: name,
      ...(address && { base_url: address }),
      ...(temperature !== undefined && { temperature }),
    };
  }
  if (model.provider === "assistant") return { provider: "assistant", assistant_id: model.assistant_id };
  const { provider, model: name, temperature } = model;
  const more = temperature === undefined ? {} : { temperature };
  if (model.provider === "openai")
    return { provider: "openai", model: name, ...(model.base_url && { base_url: model.base_url }), ...more };
  return { provider: "workers-ai" as const, model: name, ...more } satisfies RuleJudgeModel & {
    provider: typeof provider;
  };
}

/**
 * The secrets that are sent, sealed, and the actions. A webhook or judge that the rule has already keeps its id, and a secret of it that
 * is sent hidden. @throws Problem 422
 */
async function keepReceivers(
  env: Env,
  { actions, ...rule }: Pick<RuleRow, "id" | "workspaceId" | "actions">,
  given: RuleBody,
  before: RuleRow | undefined,
): Promise<Pick<RuleRow, "secrets" | "actions">> {
  const held = before ? await openRuleSecrets(env, before) : { headers: [], keys: [] };
  const webhooks = given.webhooks ?? [];
  const hooks = findStoredReceivers(
    webhooks.map(({ url, headers }) => webhookNames(url, headers)),
    (before?.actions.webhooks ?? []).map(({ url }, at) => {
      const secret = held.headers[at] ?? {};
      return { names: webhookNames(url, secret), secret };
    }),
  );
  const headers = webhooks.map((hook, at) =>
    resolveHeaders(hook.headers, held.headers[hooks[at] ?? -1], `body.webhooks.${at}.headers`),
  );
  const judges = findStoredReceivers(
    (actions.judges ?? []).map(judgeNames),
    (before?.actions.judges ?? []).map((judge, at) => ({ names: judgeNames(judge), secret: held.keys[at] ?? null })),
  );
  const keys = (given.evaluators ?? []).map(({ structured: { model } }, at): string | null => {
    if (!model || "kwargs" in model || model.provider !== "openai" || model.api_key === undefined) return null;
    return resolveSecret(model.api_key, held.keys[judges[at] ?? -1], `body.evaluators.${at}.structured.model.api_key`);
  });
  const earlier = before?.actions;
  return {
    secrets: await sealRuleSecrets(env, rule, { headers, keys }),
    actions: {
      ...actions,
      ...(actions.webhooks && { webhooks: keepIds(actions.webhooks, (at) => earlier?.webhooks?.[hooks[at] ?? -1]) }),
      ...(actions.judges && {
        judges: keepIds(actions.judges, (at, { prompt }) => {
          const same = earlier?.judges?.[judges[at] ?? -1];
          return canonicalJson(same?.prompt) === canonicalJson(prompt) ? same : undefined;
        }),
      }),
    },
  };
}

/** By what a webhook is known again (`findHeld`). */
const webhookNames = (url: string, headers: object = {}) => [
  JSON.stringify([url, Object.keys(headers).toSorted()]),
  url,
];

/** By what a judge is known again. A key is kept for its address only. */
function judgeNames({ prompt, format, variables, schema, model }: RuleJudge): string[] {
  const judge = { prompt, format, variables, schema, model };
  const address = [model.provider, model.provider === "openai" ? (model.base_url ?? null) : null];
  return [judge, { prompt, address }, { model, address }, { address }].map((name) => canonicalJson(name));
}

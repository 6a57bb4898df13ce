/** Converts a client's request for a run to the thread's own form. */
import { contextWithoutIdentity, withoutIdentity, authorize, containsJson } from "../../access/users/handlers.ts";
import type { Principal } from "../../http/principal.ts";
import { settings } from "../../config.ts";
import { deployedBudgets } from "../../limits/budgets/rule.ts";
import { deployedRules } from "../../limits/flow/rule.ts";
import { budgetsFor, knownBudgets } from "../../limits/budgets/rpc.ts";
import { isLimited, modelIn, type FlowRunFacts } from "../../limits/flow/run-flow.ts";
import { knownRules } from "../../limits/flow/rpc.ts";
import { refuseConflict } from "../../agents/assistants/context.ts";
import type { Assistant } from "../../agents/assistants/store.ts";
import { isObject, type Json } from "../../lib/json.ts";
import { Problem } from "../../lib/problem.ts";
import { requireAssistant, type ThreadCaller, threadMetadata } from "./access.ts";
import { type Actor, type CheckpointAddress, threadName } from "../types.ts";
import type { RunRequest } from "../rpc.ts";
import { commandWithEffect } from "../../runtime/drive.ts";
import type { RunCreate } from "./schema.ts";
import { uuidv7 } from "../../lib/uuid.ts";

/** The checkpoint that a body names: of the thread's own graph unless it says otherwise. */
export function checkpointAddress(
  given: { checkpoint_id?: string | null; checkpoint_ns?: string | null } | null | undefined,
): CheckpointAddress | undefined {
  return given ? { checkpoint_id: given.checkpoint_id, checkpoint_ns: given.checkpoint_ns ?? "" } : undefined;
}

/** Headers that a graph must not see: they carry credentials or routing. */
const HIDDEN_HEADERS = new Set(["x-api-key", "x-tenant-id", "x-organization-id", "x-service-key"]);

/** Without `http.configurable_headers`. */
const SHOWN_HEADERS = ["x-*", "user-agent"];

/** Headers that graphs may read from `configurable`: those that `http.configurable_headers` includes and does not exclude. */
export function headersAsConfigurable(headers: Headers, http = settings.http): Json {
  const { include, includes, exclude, excludes } = http.configurable_headers ?? {};
  const shown = include ?? includes ?? SHOWN_HEADERS;
  const hidden = exclude ?? excludes ?? [];
  return Object.fromEntries(
    [...headers]
      .filter(([name]) => matches(name, shown) && !matches(name, hidden) && !HIDDEN_HEADERS.has(name))
      .map(([name, value]) => [name, name === "cookie" ? value.replaceAll(OWN_COOKIES, "") : value]),
  );
}

/** The server's own cookies: a session among them is a credential. */
const OWN_COOKIES = /(?<![^; ])(?:__Host-)?weir_[^=;]*=[^;]*(?:;\s*|$)/g;

/** Whether one of the patterns is the header's name, or begins it and ends in `*`. */
const matches = (name: string, patterns: string[]): boolean =>
  patterns
    .map((pattern) => pattern.toLowerCase())
    .some((pattern) => (pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern));

/** What a request adds to `configurable`: its headers, and the user of the deployment's own `Auth`. */
export function readConfigurable(headers: Headers, { user }: Principal): Json {
  const shown = headersAsConfigurable(headers);
  if (!user) return shown;
  return {
    ...shown,
    user_id: user.identity,
    langgraph_auth_user: user,
    langgraph_auth_user_id: user.identity,
    langgraph_auth_permissions: user.permissions,
  };
}

/**
 * The one decision whether a principal may run an assistant on a thread. A user needs `assistants:read` of the assistant
 * and `threads:create_run` of the thread. Gives the assistant, and the run's metadata as the handlers leave it.
 * 403 when a handler refuses, 404 when the assistant or the thread is not one that the user sees.
 */
async function mayRun(
  { env, principal }: Pick<ThreadCaller, "env" | "principal">,
  threadId: string,
  body: RunCreate,
): Promise<{ assistant: Assistant; metadata?: Json }> {
  const { metadata } = body;
  const assistant = await requireAssistant(env, principal, body.assistant_id);
  if (!principal.user) return { assistant, metadata: metadata ?? undefined };
  const value: Json = { ...body, thread_id: threadId, metadata: { ...metadata }, kwargs: body };
  const filter = await authorize(principal, "threads", "create_run", value);
  const thread = filter && (await threadMetadata(env, principal.workspaceId, threadId));
  // A thread that does not exist is made, or refused, by the run.
  if (thread && !containsJson(thread, filter)) throw new Problem(404, `${threadName(threadId)} not found.`);
  return { assistant, metadata: isObject(value.metadata) ? value.metadata : {} };
}

/**
 * The request that the thread takes, if the caller may run the assistant there: defaults are set, and the assistant's
 * part is added. Every surface makes its runs here. Throws as `mayRun` does.
 */
export async function runRequest(
  by: ThreadCaller,
  threadId: string,
  body: RunCreate,
  runId: string = uuidv7(),
): Promise<RunRequest> {
  const { env, principal } = by;
  const [{ assistant, metadata }, rules, { budgets }] = await Promise.all([
    mayRun(by, threadId, body),
    knownRules(env, principal.workspaceId),
    knownBudgets(env, principal.workspaceId),
  ]);
  refuseConflict(body.config, body.context);
  const facts = readFacts(by, threadId, assistant, { ...body, metadata });
  const { config, checkpoint, checkpoint_id, feedback_keys, langsmith_tracer } = body;
  const { configurable: given = {}, ...rest } = dropUndefined(config ?? {}) as { configurable?: Json };
  // Some clients name the checkpoint among the configurables. It must count only until the run has one of its own.
  const { checkpoint_id: named, ...others } = withoutIdentity(given);
  // The path selects the thread. A thread id in the checkpoint's address is ignored.
  const { thread_id: _, ...address } = checkpoint ?? {};
  const at: CheckpointAddress = {
    ...(typeof named === "string" && { checkpoint_id: named }),
    ...dropUndefined(address),
    ...(checkpoint_id && { checkpoint_id }),
  };
  return {
    run_id: runId,
    assistant_id: assistant.assistant_id,
    graph_id: assistant.graph_id,
    assistant: { config: assistant.config, context: assistant.context, metadata: assistant.metadata },
    input: body.input,
    command: commandWithEffect(body.command),
    config: config ? { ...rest, configurable: others } : undefined,
    context: body.context ? contextWithoutIdentity(body.context) : undefined,
    metadata,
    checkpoint: Object.keys(at).length > 0 ? at : undefined,
    stream_mode: body.stream_mode ?? ["values"],
    stream_subgraphs: body.stream_subgraphs ?? false,
    stream_resumable: body.stream_resumable ?? false,
    interrupt_before: nodes(body.interrupt_before),
    interrupt_after: nodes(body.interrupt_after),
    multitask_strategy: body.multitask_strategy ?? undefined,
    strict_resume: body.strict_resume ?? undefined,
    if_not_exists: body.if_not_exists ?? undefined,
    after_seconds: body.after_seconds ?? undefined,
    durability: body.durability ?? (body.checkpoint_during === false ? "exit" : undefined),
    on_disconnect: body.on_disconnect ?? undefined,
    webhook: body.webhook ?? undefined,
    feedback_keys: feedback_keys == null ? undefined : [...new Set([feedback_keys].flat())],
    langsmith_tracer: langsmith_tracer ? dropUndefined(langsmith_tracer) : undefined,
    configurable: by.configurable,
    depth: by.principal.depth,
    flow: isLimited(deployedRules, rules, facts) || undefined,
    budgets: budgetsFor(deployedBudgets, budgets, facts),
    actor: body.command?.resume == null ? undefined : describeActor(by),
  };
}

/** What the rules of flow control and budgets read of the run. */
function readFacts(
  { principal }: ThreadCaller,
  threadId: string,
  { assistant_id, graph_id, config, context, metadata }: Assistant,
  body: RunCreate,
): FlowRunFacts {
  return {
    threadId,
    assistantId: assistant_id,
    graphId: graph_id,
    user: principal.user?.identity,
    model: modelIn([body.context, body.config?.configurable, context, config.configurable]),
    metadata: { ...metadata, ...body.metadata },
  };
}

/** Who makes the run, and through what, for the audit log. */
export function describeActor({
  principal: { kind, credentialId, user },
  via,
}: Pick<ThreadCaller, "principal" | "via">): Actor {
  const usual = { member: "console", cron: "cron", run: "run" } as const;
  const surface = via ?? (kind in usual ? usual[kind as keyof typeof usual] : "api");
  return { kind, credentialId, user: user?.identity, via: surface };
}

function nodes(given: string | string[] | null | undefined): "*" | string[] | undefined {
  if (given == null) return undefined;
  return given === "*" ? "*" : [given].flat();
}

function dropUndefined(values: object): Json {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined));
}

/** What a request for a run becomes: a new run in the queue and its thread's record, or the run that it repeats. */
import { remoteProblem } from "../../lib/problem.ts";
import type { Json } from "../../lib/json.ts";
import { acceptedResponseOfRun, findAcceptedResponse, describeResponse } from "../interrupts/responses.ts";
import { type AcceptedResponse, threadNotFound } from "../types.ts";
import type { ThreadContext } from "../context.ts";
import { graphIdAt } from "../state/graph.ts";
import { namesLatest } from "../state/migrate.ts";
import { QUEUE_LIMIT, withinMetadata } from "../limits.ts";
import { newRecord, pendingInterrupts, type ThreadRecord, withOwner } from "../record.ts";
import type { RunRequest } from "../rpc.ts";
import {
  isOpen,
  toRunRecord,
  type RunRecord,
  findTask,
  type RunOutcome,
  type ResumeRefusal,
  isInFlight,
} from "../run.ts";
import { listResumedInterrupts, runOfInterrupt, refuseResume } from "../interrupts/resume.ts";
import { interruptIds } from "../interrupts/waiting.ts";
import { budgetsFor, knownBudgets } from "../../limits/budgets/rpc.ts";
import { deployedBudgets } from "../../limits/budgets/rule.ts";
import { deployedRules } from "../../limits/flow/rule.ts";
import { isLimited, modelIn, type FlowRunFacts } from "../../limits/flow/run-flow.ts";
import { knownRules } from "../../limits/flow/rpc.ts";

/**
 * For this time after a run's end, the same command counts as a repetition. After it, a person may have sent the same
 * text again.
 */
export const REPEAT_MS = 10_000;

/** The id of the tombstone of a command's run. */
export const fingerprintId = (fingerprint: string): string => `command ${fingerprint}`;

/**
 * The run that the same request has made: for a client that retries after a lost answer. A command whose answers are waited
 * for is no repetition: the run that it made before was stopped, or asked again. 409 when the run was deleted or rolled back.
 */
export function repeatedRun(
  context: ThreadContext,
  open: readonly RunRecord[],
  { run_id, must_resume: answers = [], fingerprint }: RunRequest,
): RunRecord | undefined {
  const { runs, tombstones } = context.tables;
  const known = context.run(run_id);
  if (known) return known;
  if (tombstones.has(run_id)) throw runDeleted();
  if (fingerprint === undefined) return undefined;
  if (answers.length > 0 && areWaiting(answers, context, open)) return undefined;
  const since = Date.now() - REPEAT_MS;
  const sent = runs.withFingerprint(fingerprint).map(toRunRecord);
  const first = sent.find(({ status, outcome }) => isOpen(status) || outcome.updated > since);
  if (!first && tombstones.has(fingerprintId(fingerprint))) throw runDeleted();
  return first;
}

/** The answer to a request whose run is gone. */
export const runDeleted = (): Error =>
  remoteProblem(
    409,
    "The run that this request started was deleted or rolled back. A repeated request does not start it again: send a new one.",
    "run_deleted",
  );

/** The answer to a repeated request whose thread is gone. */
export const threadDeleted = (): Error =>
  remoteProblem(
    409,
    "The thread of this request was deleted. A repeated request does not make it again: send a new one.",
    "thread_deleted",
  );

/**
 * Throws 409 when an interrupt that the run must resume no longer waits, and says which response was accepted. A run of the API
 * names no interrupt here: with `strict_resume` it fails when it begins (interrupts/resume.ts), else its response is not used.
 */
export function refuseLateResponses(
  context: ThreadContext,
  open: readonly RunRecord[],
  { must_resume: answers = [] }: Pick<RunRequest, "must_resume">,
): void {
  if (areWaiting(answers, context, open)) return;
  const first = answers.map((id) => responseTo(context, open, id)).find((one) => one !== undefined);
  const said = "The interrupt does not wait for an answer, or has been given one.";
  throw remoteProblem(409, first ? `${said} ${describeResponse(first)}` : said);
}

/** The answer that the interrupt has taken: of an open run, or kept. */
export function responseTo(
  context: ThreadContext,
  open: readonly RunRecord[],
  id: string,
): AcceptedResponse | undefined {
  const run = findRunThatResumes(context, open, id);
  return run ? acceptedResponseOfRun(run) : findAcceptedResponse(context, id);
}

/** The open run that answers the pending interrupt. */
export function findRunThatResumes(
  context: ThreadContext,
  open: readonly RunRecord[],
  id: string,
): RunRecord | undefined {
  const asked = pendingInterrupts(context.record);
  return open.find((run) => {
    if (!isInFlight(run)) return false;
    if (run.status === "running") return run.outcome.answered?.includes(id);
    return (
      namesLatest(context.checkpoints, run.request.checkpoint) && listResumedInterrupts(run.request, asked).includes(id)
    );
  });
}

function areWaiting(answers: string[], context: ThreadContext, open: readonly RunRecord[]): boolean {
  const pending = pendingInterrupts(context.record);
  return answers.every((id) => pending.includes(id) && !findRunThatResumes(context, open, id));
}

/**
 * The request with the config of the run that has raised what it resumes, under its own: a response continues that run. Of a run of
 * another assistant it takes none.
 */
export function withConfigOfRaiser(context: ThreadContext, request: RunRequest): RunRequest {
  const [id] = request.must_resume ?? [];
  const raiser = id === undefined ? undefined : runOfInterrupt(context, id)?.request;
  if (!raiser || raiser.assistant_id !== request.assistant_id) return request;
  const config = { ...raiser.config, ...request.config };
  const configurable = { ...(raiser.config?.configurable as Json), ...(request.config?.configurable as Json) };
  return {
    ...request,
    ...((raiser.config ?? request.config) && { config: { ...config, configurable } }),
    context: request.context ?? raiser.context,
  };
}

/**
 * The open run that does what the request asks for: its client gets that run. A run that is being stopped does not do it, and a
 * response is a request of its own.
 */
export function findRunToJoin(
  open: readonly RunRecord[],
  { sent, assistant_id, command }: RunRequest,
): RunRecord | undefined {
  if (sent?.asks === undefined || command) return undefined;
  return open.find(({ request, outcome }) => {
    return request.sent?.asks === sent.asks && request.assistant_id === assistant_id && !outcome.stopped;
  });
}

/** A run that waits behind the open ones. `size`: characters of the request as JSON. 429 when the queue is full. */
export function newRun(open: readonly RunRecord[], request: RunRequest, size: number): RunRecord {
  if (open.length > 0 && open.reduce((sum, run) => sum + run.size, size) > QUEUE_LIMIT)
    throw remoteProblem(429, "The runs that wait on this thread are too large together. Wait until some have ended.");
  const now = Date.now();
  const last = open.reduce((latest, run) => Math.max(latest, run.created), 0);
  return {
    id: request.run_id,
    size,
    // The queue is ordered by creation time, and Date.now() does not advance within a request.
    created: Math.max(now, last + 1),
    due: now + (request.after_seconds ?? 0) * 1000,
    status: "pending",
    request,
    outcome: { updated: now, attempt: 0 },
  };
}

/**
 * The record of the run's thread; a new one when there is none and the request makes it. 404 when it makes none, and for the thread
 * of a stateless run: it is deleted soon after that run's end. 422 when the thread's metadata leave no room for the run's assistant,
 * which they name when the run begins.
 */
export function threadFor(context: ThreadContext, request: RunRequest): ThreadRecord {
  const { record } = context;
  if (record?.temporary) throw threadNotFound(context.threadId);
  const begun = withOwner(record ?? newThread(context, request), request);
  if (begun !== record) withinMetadata(begun.metadata);
  return record ?? begun;
}

function newThread({ workspaceId, threadId }: ThreadContext, request: RunRequest): ThreadRecord {
  if (request.if_not_exists !== "create") throw threadNotFound(threadId);
  const record = newRecord(workspaceId, threadId, { ...request.metadata });
  const { temporary, keep_until, keep_interrupts } = request;
  if (!temporary) return record;
  const kept = { ...(keep_until && { keep_until }), ...(keep_interrupts && { keep_interrupts: true as const }) };
  return { ...record, temporary: kept, ttl: keep_interrupts ? record.ttl : undefined };
}

/**
 * The events that say that a run begins share a row with its first step. Those of a task are written before its webhook is
 * called, which shows its status.
 */
export const chooseWrite = (run: RunRecord) => (findTask(run) === undefined ? "gathered" : "written");

// From where a run continues, and what it answers there: at the latest checkpoint, or at one of the past.

/** Whether a run that has begun continues from a checkpoint of the past. */
export const isFork = ({ request, outcome }: Pick<RunRecord, "request" | "outcome">): boolean =>
  request.checkpoint !== undefined && !outcome.at_latest;

/**
 * Whether the run has continued from a checkpoint of the past and has written none: the thread's state is still that of the latest
 * checkpoint, of which the run has seen nothing.
 */
export const isAside = ({ checkpoints }: ThreadContext, run: RunRecord): boolean =>
  isFork(run) && checkpoints.get("")?.metadata.run_id !== run.id;

/**
 * Whether the thread's state after the run is the one before it: the run is aside, or the latest checkpoint is of another graph. Its own
 * graph has then found nothing to do, and shows the state without what the other graph has in it.
 */
export const leavesState = (context: ThreadContext, run: RunRecord): boolean =>
  isAside(context, run) || graphIdAt(context, context.checkpoints.get("")) !== run.request.graph_id;

/** The checkpoint of the past from which a run continues. */
export const forkedFrom = (run: Pick<RunRecord, "request" | "outcome">): string | undefined =>
  isFork(run) ? (run.request.checkpoint?.checkpoint_id ?? undefined) : undefined;

/**
 * What a run that begins continues: whether its request names the latest checkpoint, why it is refused, and which questions it answers.
 * `seen`: its beginning is in the log, with what it answers.
 */
export function checkContinuation(
  context: ThreadContext,
  { request, outcome }: RunRecord,
  seen: boolean,
): Pick<RunOutcome, "at_latest" | "task_id"> & { refusal?: ResumeRefusal; answered: string[] } {
  const isLatest = outcome.at_latest ?? namesLatest(context.checkpoints, request.checkpoint);
  const pending = isLatest ? pendingInterrupts(context.record) : interruptsAt(context, request);
  // What a request says that it resumes may have been replaced since it came. An earlier checkpoint has what it had.
  const isStrict = isLatest && (request.strict_resume === true || request.must_resume !== undefined);
  const refusal = refuseResume(request, pending, isStrict);
  const answered = seen || refusal ? [] : listResumedInterrupts(request, pending);
  if (!isLatest) return { refusal, answered };
  const task_id = request.task ? undefined : taskOfInterrupt(context, answered);
  return { refusal, answered, ...(request.checkpoint && { at_latest: true }), ...(task_id && { task_id }) };
}

/** The task whose question the run answers. The run joins it, through whichever channel the answer came. */
function taskOfInterrupt(context: ThreadContext, answered: string[]): string | undefined {
  if (answered.length === 0 || !context.tables.hasTasks()) return undefined;
  for (const id of answered) {
    const asking = runOfInterrupt(context, id);
    const task = asking && findTask(asking);
    if (task !== undefined) return task;
  }
  return undefined;
}

/** The ids of the questions that wait at the checkpoint that a request names. */
export function interruptsAt(
  { checkpoints }: Pick<ThreadContext, "checkpoints">,
  { checkpoint }: RunRequest,
): string[] {
  return interruptIds(checkpoints.interrupts(checkpoint?.checkpoint_id ?? undefined));
}

// The rules of flow control and the budgets that are in force now, for a run that the thread makes itself.

/** The request with what is in force. The run from which it was taken may have asked its question weeks ago. */
export async function withLimitsNow(
  { env, workspaceId, threadId }: ThreadContext,
  request: RunRequest,
): Promise<RunRequest> {
  const [rules, { budgets }] = await Promise.all([knownRules(env, workspaceId), knownBudgets(env, workspaceId)]);
  const facts = collectFacts(threadId, request);
  return {
    ...request,
    flow: isLimited(deployedRules, rules, facts) || undefined,
    budgets: budgetsFor(deployedBudgets, budgets, facts),
  };
}

/** What rules read of the run, from its request. */
export function collectFacts(threadId: string, request: RunRequest): FlowRunFacts {
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

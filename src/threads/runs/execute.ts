/** One run of a graph, from its request to its outcome. */
import type { BaseStore } from "@langchain/langgraph-checkpoint";
import { callAs, principalOfRun, toCaller } from "../../http/loopback.ts";
import { toNumbers } from "../../lib/json.ts";
import { command, drive } from "../../runtime/drive.ts";
import { ModelGuard } from "../../runtime/model-guard.ts";
import { Saver } from "../../runtime/saver.ts";
import { errorBody } from "../../runtime/wire.ts";
import { Tracer } from "../../runtime/tracer.ts";
import { ownProject } from "../../traces/own-runs.ts";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import type { Emitter } from "../log/emit.ts";
import { pendingInterrupts } from "../record.ts";
import type { RunError, RunStatus } from "../types.ts";
import { budgetResponses, graphInterrupts } from "../interrupts/budget-resume.ts";
import { isFork, interruptsAt } from "./insert.ts";
import type { RunSpending } from "./spending.ts";
import {
  boundContext,
  buildConfig,
  inheritedMetadata,
  loadGraph,
  mergeMetadata,
  runIds,
  type RunOfThread,
} from "../state/graph.ts";
import { describeWriter, isContinuing, isMigrated, migrateOnce, describeMissing } from "../state/migrate.ts";
import { responseAfterMigration } from "../interrupts/resume.ts";
import { responsesById } from "../interrupts/waiting.ts";

export interface RunExecution extends RunOfThread {
  env: Env;
  checkpoints: Checkpoints;
  emitter: Emitter;
  store?: BaseStore;
  /** What counts the run's budgets, made when it begins; undefined when none applies. */
  spending: () => Promise<RunSpending | undefined>;
  /** Its reason is a StopReason. */
  signal: AbortSignal;
}

/** Runs the graph to its end, its pause, its error or its stop; never throws. */
export async function execute(
  execution: RunExecution,
): Promise<{ status: RunStatus; error?: RunError; tracer?: Tracer }> {
  const tracer = createTracer(execution);
  return { ...(await endExecution(execution, tracer)), tracer };
}

/** The tracer of a run; undefined when the deployment does not trace its own runs. */
export function createTracer(
  execution: Pick<RunExecution, "env" | "run" | "thread"> & { signal?: AbortSignal },
): Tracer | undefined {
  const project = ownProject(execution.env, execution.run.request.langsmith_tracer?.project_name);
  return project === undefined ? undefined : new Tracer(toNumbers(mergeMetadata(execution)), execution.signal);
}

async function endExecution(
  execution: RunExecution,
  tracer: Tracer | undefined,
): Promise<{ status: RunStatus; error?: RunError }> {
  const { run, emitter, signal } = execution;
  try {
    const caller = toCaller(execution.env, execution.thread.workspace_id, principalOfRun(run));
    await callAs(caller, () => start(execution, tracer));
    return { status: emitter.interrupted ? "interrupted" : "success" };
  } catch (error) {
    if (!signal.aborted) return { status: "error", error: errorBody(error) };
    if (signal.reason !== "timeout") return { status: "interrupted" };
    return { status: "timeout", error: { error: "TimeoutError", message: `Run ${run.id} took too long.` } };
  } finally {
    emitter.close();
  }
}

async function start(execution: RunExecution, tracer: Tracer | undefined): Promise<void> {
  const { env, thread, run, checkpoints, emitter, store, signal } = execution;
  const { request } = run;
  const spending = await execution.spending();
  const guard = spending && new ModelGuard(spending, (callId) => tracer?.drop(callId));
  const config = buildConfig(execution);
  // After a crash, a run with a checkpoint continues from it. A run without one starts again.
  const begun = checkpoints.get("")?.metadata.run_id === run.id;
  // LangGraph executes the finished tasks of a step again where a checkpoint is named.
  const from = begun || !isFork(run) ? undefined : request.checkpoint;
  const configurable = { ...config.configurable, ...from };
  const graph = await loadGraph(request.graph_id, { ...config, configurable }, env, "threads.create_run");
  const place = { checkpoints, threadId: thread.thread_id, graphId: request.graph_id };
  const checkpointId = from?.checkpoint_id ?? undefined;
  if (checkpointId === undefined) await migrateOnce(graph, place);
  if (begun || isContinuing(request)) await refuseToDrop(graph, { ...place, checkpointId });
  const modes = request.stream_mode ?? [];
  const ids = { ...runIds(execution), ...(await describeWriter(graph, request.graph_id)) };
  const { durability } = request;
  const inherited = toNumbers(inheritedMetadata(execution));
  const saver = new Saver(checkpoints, thread.thread_id, ids, { inherited, stop: signal, durability });
  const driving = drive(
    graph,
    begun ? null : input(execution),
    {
      runId: run.id,
      configurable: { checkpoint_ns: "", ...configurable },
      origin: (checkpointId) => findOrigin(execution, checkpointId),
      context: boundContext(graph, config.context),
      metadata: config.metadata,
      tags: config.tags,
      runName: config.run_name,
      maxConcurrency: config.max_concurrency,
      recursionLimit: config.recursion_limit,
      interruptBefore: request.interrupt_before,
      interruptAfter: request.interrupt_after,
      durability,
      around: guard?.task,
      signal: spending ? AbortSignal.any([signal, spending.ended.signal]) : signal,
      checkpointer: saver,
      store,
      debug: modes.includes("debug") || modes.includes("checkpoints"),
      events: modes.includes("events"),
      callbacks: [...(tracer ? [tracer] : []), ...(guard ? [guard] : [])],
    },
    emitter,
  );
  try {
    await (spending ? countSpending(spending, driving) : driving);
  } finally {
    saver.close();
  }
  saver.check();
}

/** LangGraph ignores what waits at nodes that the graph does not have: the run would end as if nothing waited. */
async function refuseToDrop(...[graph, position]: Parameters<typeof describeMissing>): Promise<void> {
  const missing = await describeMissing(graph, position);
  if (missing) throw Object.assign(new Error(missing), { name: "GraphChanged" });
}

/** Waits until all that the graph has spent is known. A budget that has ended it is its error, also when a node caught it. */
async function countSpending(spending: RunSpending, driving: Promise<void>): Promise<void> {
  const { signal } = spending.ended;
  try {
    await driving;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await spending.settle();
  }
  signal.throwIfAborted();
}

/**
 * Names a checkpoint by its thread and the run that wrote it: a run writes one checkpoint a step, and an attempt that
 * repeats the step writes it under another id. A checkpoint of a state update has no run and keeps its id.
 */
function findOrigin({ thread, run, checkpoints }: RunExecution, checkpointId: string): string {
  // With the durability "exit", the checkpoints of this run are not stored yet.
  const { run_id } = checkpoints.get("", checkpointId)?.metadata ?? { run_id: run.id };
  return `${thread.thread_id} ${typeof run_id === "string" ? run_id : checkpointId}`;
}

function input({ run, thread, checkpoints }: RunExecution): unknown {
  const { request } = run;
  if (!request.command) return request.input ?? null;
  const { command: given } = budgetResponses(run, thread);
  if (!given) return null;
  const { resume } = given;
  if (isMigrated(checkpoints) && resume != null)
    return command({ ...given, resume: responseAfterMigration(resume, graphInterrupts(thread)) });
  const pending = isFork(run) ? interruptsAt({ checkpoints }, request) : pendingInterrupts(thread);
  // LangGraph takes an answer such as `false` or "" for none, unless it is addressed. Where the attempt before came further, it would give
  // one that is not addressed to a later question.
  if (resume == null || (resume && run.outcome.attempt <= 1)) return command(given);
  return command({ ...given, resume: responsesById(resume, pending) });
}

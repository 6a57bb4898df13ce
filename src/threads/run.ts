/** Runs as rows: their states, and how they read on the wire. */
import type { BudgetSpending } from "../limits/budgets/rpc.ts";
import { remoteProblem } from "../lib/problem.ts";
import { type Json, parseExact, toNumbers } from "../lib/json.ts";
import { mirrorContext } from "../agents/assistants/context.ts";
import { readOwnPath } from "../deliveries/receiver.ts";
import type { ThreadOwner } from "./record.ts";
import type { RunRequest } from "./rpc.ts";
import type { Interrupts, MultitaskStrategy, Run, RunError, RunStatus, StopReason } from "./types.ts";
import type { RunRow } from "./store/statements.ts";
import type { ValueRefs } from "./log/values.ts";

/** The allowed changes of a run's status. Any other change is a bug. */
const TRANSITIONS: Record<RunStatus, readonly RunStatus[]> = {
  pending: ["running", "interrupted"],
  running: ["success", "error", "timeout", "interrupted"],
  success: [],
  error: [],
  timeout: [],
  interrupted: [],
};

export const isOpen = (status: RunStatus): boolean => TRANSITIONS[status].length > 0;

/** The stored outcome of a run. */
export interface RunOutcome {
  updated: number;
  /** How often it was started; more than once after a crash. */
  attempt: number;
  /**
   * How often in a row the process stopped before this attempt with the same tasks finished, and the number of those
   * tasks.
   */
  deaths?: number;
  finished?: number;
  /** When it was first started, and when its graph gave something first; milliseconds. */
  began?: number;
  first_event?: number;
  first_seq?: number;
  last_seq?: number;
  values?: ValueRefs;
  interrupts?: Interrupts;
  /** Its request names the checkpoint that was the latest one when it began. */
  at_latest?: true;
  /** The thread's graph and assistant until it began, where its own are others: a rollback puts them back. */
  replaced?: ThreadOwner;
  /** The ids of the questions that it answers, as the log says. */
  answered?: string[];
  /** The task whose question it answers, where its request names none. */
  task_id?: string;
  error?: RunError;
  /** What is spent of its budgets, by their ids. */
  spent?: Record<string, BudgetSpending>;
  /** It has claimed slots although its request does not say so: a rule that is newer limits it. */
  claimed?: true;
  /** Why it was stopped, if it was. */
  stopped?: StopReason;
  /** It answered what does not wait, so it runs nothing. */
  refusal?: ResumeRefusal;
  /** What was sent asks nothing of the thread as it was when the run began, or cannot be carried out there, so it runs nothing. */
  idle?: { error?: RunError };
}

/** Why a resume runs nothing, as clients read it in the run's end. */
export interface ResumeRefusal {
  /** `several_interrupts`: the response names none of those that wait. */
  reason: "unknown_interrupt" | "several_interrupts";
  /** What was answered and does not wait. */
  interrupt_ids: string[];
  /** What waits. */
  pending_ids: string[];
}

export interface RunRecord {
  id: string;
  /** Characters of the request as JSON. */
  size: number;
  created: number;
  /** Not before this moment (`after_seconds`), milliseconds. */
  due: number;
  status: RunStatus;
  request: RunRequest;
  outcome: RunOutcome;
}

/** The run that a row holds. */
export function toRunRecord(row: RunRow): RunRecord {
  const { input, command, ...stored } = parseExact(row.request) as RunRequest;
  const request: RunRequest = { ...stored, input: toNumbers(input), command: toNumbers(command) };
  const outcome = row.outcome === null ? { updated: row.created, attempt: 0 } : (JSON.parse(row.outcome) as RunOutcome);
  const due = row.created + (request.after_seconds ?? 0) * 1000;
  const size = row.request.length;
  return { id: row.run_id, size, created: row.created, due, status: row.status as RunStatus, request, outcome };
}

/** The run in its next status, as a copy; throws when the machine has no such step. */
export function transition(run: RunRecord, to: RunStatus): RunRecord {
  if (!TRANSITIONS[run.status].includes(to)) throw new Error(`A ${run.status} run cannot become ${to}.`);
  return { ...run, status: to, outcome: { ...run.outcome, updated: Date.now() } };
}

/** Whether the run has claimed slots, or will: its end gives them back. */
export const takesSlots = ({ request, outcome }: RunRecord): boolean =>
  request.flow !== undefined || outcome.claimed === true;

/** The task that the run is of: that of its request, or the one whose question it answers. */
export const findTask = ({ request, outcome }: Pick<RunRecord, "request" | "outcome">): string | undefined =>
  request.task?.task_id ?? outcome.task_id;

/** The answer when `multitask_strategy` is "reject" and a run is open. */
export function busy(): Error {
  const detail =
    "Thread is already running a task. Wait for it to finish or choose a different multitask strategy (enqueue, interrupt, rollback).";
  return remoteProblem(409, detail);
}

/** What the run does when another is open. */
export function readStrategy(request: RunRequest): MultitaskStrategy {
  return request.multitask_strategy ?? "enqueue";
}

interface RunThread {
  threadId: string;
  /** Undefined when the thread is deleted: a webhook outlives it. */
  record: { metadata: Json } | undefined;
}

/** The run on the wire. */
export function toWireRun(run: RunRecord, { threadId, record }: RunThread): Run {
  const { request } = run;
  const { assistant_id, graph_id } = request;
  return {
    run_id: run.id,
    thread_id: threadId,
    assistant_id,
    // A run that waits counts as created when it becomes due, as on the official server.
    created_at: new Date(run.due).toISOString(),
    updated_at: new Date(run.outcome.updated).toISOString(),
    status: run.status,
    metadata: { ...request.assistant.metadata, ...record?.metadata, ...request.metadata, graph_id, assistant_id },
    multitask_strategy: readStrategy(request),
    kwargs: toWireKwargs(request),
    ...describeRunResponse(run),
    ...budgetsOn(run),
  };
}

function describeRunResponse({ request: { actor }, outcome }: RunRecord): Pick<Run, "answered"> {
  if (!actor?.via || !outcome.answered?.length) return {};
  return { answered: { via: actor.via, ...(actor.name !== undefined && { name: actor.name }) } };
}

function budgetsOn({ request: { budgets }, outcome: { spent: states = {} } }: RunRecord): Pick<Run, "budgets"> {
  if (!budgets) return {};
  const shown = budgets.map(({ id, per, key, unit, limit }) => {
    const { spent = 0, extra = 0 } = states[id] ?? {};
    return { budget: id, per, key, unit, spent, limit: limit + extra };
  });
  return { budgets: shown };
}

function toWireKwargs(request: RunRequest): Json {
  return {
    input: request.input ?? null,
    command: request.command ?? null,
    ...mirrorContext(request.config ?? {}, request.context),
    stream_mode: request.stream_mode ?? ["values"],
    interrupt_before: request.interrupt_before ?? null,
    interrupt_after: request.interrupt_after ?? null,
    webhook: readOwnPath(request) ?? request.webhook ?? null,
    feedback_keys: request.feedback_keys ?? null,
    temporary: request.temporary ?? false,
    subgraphs: request.stream_subgraphs ?? false,
    resumable: request.stream_resumable ?? false,
    durability: request.durability ?? "async",
  };
}

// The order of a thread's open runs: the running one, then those that wait, by when they are due.

/** Open runs in the order in which they run. The sort is stable: of runs that are due together, the earlier one is first. */
export function orderRuns(open: readonly RunRecord[]): RunRecord[] {
  return open.toSorted((a, b) => queueOrder(a) - queueOrder(b) || a.created - b.created);
}

/** Whether the run is running, or waits and may begin. A run that is not due yet (`after_seconds`) is not in flight. */
export function isInFlight({ status, due }: RunRecord, now = Date.now()): boolean {
  return status === "running" || due <= now;
}

const queueOrder = ({ status, due }: RunRecord): number => (status === "running" ? 0 : due);

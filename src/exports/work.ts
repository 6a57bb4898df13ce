/** One step of an export or of an export run, as the ledger says. */
import { readableFault } from "../traces/partition/read/condition.ts";
import { findProject, listExperiments } from "../traces/projects/store.ts";
import { dayBounds, toDay } from "../traces/time.ts";
import { type ExportDeps, type ExportMessage, createExportDeps } from "./deps.ts";
import {
  completeEmptyRuns,
  failJob,
  insertRuns,
  markPlanned,
  type PlannedRun,
  lateDays,
  findJob,
  hasOpenRuns,
  noteJobRetry,
  takeRunsToSend,
} from "./ledger/jobs.ts";
import { type ExportRow, type ExportRunRow, PROJECT_DELETED } from "./store.ts";
import { evenRetries, retryTime } from "../lib/due-work.ts";
import { logError } from "../lib/log.ts";
import { StoreError, UNANSWERED } from "./s3/errors.ts";
import { finishExport, startNext } from "./finish.ts";
import {
  leaseNextRun,
  leaseRemains,
  leaseRun,
  failRun,
  forgetRemains,
  INTERRUPTED,
  noteRetry,
  releaseLease,
} from "./ledger/lease.ts";
import { openDestination } from "./destinations/store.ts";
import { clearRemains, exportSlice, LeaseLost } from "./slice.ts";
import * as v from "valibot";

// From an export's window to its runs: one for each project and UTC day, tiling the window exactly.

/** More runs than this do not fit one export; a shorter window does the rest. */
const MAX_RUNS = 100_000;

export interface ExportWindow {
  day: string;
  startTime: number;
  endTime: number;
}

/** The UTC days of the half-open window [start, end), the first and the last cut to it. Microseconds. */
export function dayWindows(start: number, end: number): ExportWindow[] {
  const windows: ExportWindow[] = [];
  for (let at = start; at < end;) {
    const day = toDay(at);
    const next = Math.min(dayBounds(day).end, end);
    windows.push({ day, startTime: at, endTime: next });
    at = next;
  }
  return windows;
}

/**
 * Why an export cannot be carried out as things are, although it could when it was made; undefined when it can. The windows of a
 * schedule are exported after the deletion of its project, too: their manifests name its traces.
 */
async function findFault({ db, keys }: ExportDeps, job: ExportRow, isFresh: boolean): Promise<string | undefined> {
  const fault = await readableFault(keys, job.workspaceId, [job.filter], isFresh);
  if (fault !== undefined) return `UnreadableFilter: ${fault}`;
  const isGone = job.sessionId !== null && !(await findProject(db, job.workspaceId, job.sessionId));
  return isGone && job.sourceExportId === null ? PROJECT_DELETED : undefined;
}

/** @throws StoreError */
async function requireWorkable(deps: ExportDeps, job: ExportRow, isFresh = false): Promise<void> {
  const fault = await findFault(deps, job, isFresh);
  if (fault !== undefined) throw new StoreError(fault, "Fault", true);
}

/** Inserts the runs of an export. Experiments created after the job are included. */
export async function plan(deps: ExportDeps, job: ExportRow): Promise<void> {
  const projectIds = job.sessionId === null ? await listExperiments(deps.db, job.workspaceId) : [job.sessionId];
  const windows = dayWindows(job.startTime, job.endTime ?? job.startTime);
  if (projectIds.length > deps.maxExperiments) {
    const reason = `TooManyExperiments: ${projectIds.length} experiments, and an export may have ${deps.maxExperiments}.`;
    return failJob(deps.db, job.id, reason, deps.now());
  }
  if (projectIds.length * windows.length > MAX_RUNS) {
    const reason = `TooManyRuns: ${projectIds.length} projects of ${windows.length} days; choose a shorter window.`;
    return failJob(deps.db, job.id, reason, deps.now());
  }
  const runs = projectIds.flatMap((projectId) =>
    windows.map((window): PlannedRun => ({ id: deps.newId(), projectId, ...window })),
  );
  await insertRuns(deps.db, job, runs, deps.now());
  const late = await lateDays(deps.db, job);
  const lateRuns = late.slice(0, MAX_RUNS).map((day): PlannedRun => ({ id: deps.newId(), ...day }));
  await insertRuns(deps.db, job, lateRuns, deps.now());
  await completeEmptyRuns(deps.db, job.id, deps.now());
  await markPlanned(deps.db, job.id, deps.now());
}

/**
 * The messages that an export begins with. A worker takes the next run itself, so further messages would only find that
 * their runs are done. A worker that works for longer than `BUSY_MS` sends more.
 */
const FIRST_MESSAGES = 4;
const BUSY_MS = 1_000;

/** Handles one message. Errors of the store are recorded in the ledger; other errors are thrown. */
export async function advance(deps: ExportDeps, sent: ExportMessage): Promise<void> {
  if ("exportId" in sent) await advanceExport(deps, sent.exportId);
  else await advanceRuns(deps, sent.runId);
}

/** Plans a running export, sends its next runs, or writes its manifest: whichever is due. */
async function advanceExport(deps: ExportDeps, id: string): Promise<void> {
  const job = await findJob(deps.db, id);
  if (job?.status !== "RUNNING") return;
  try {
    // Before the manifest is written, nothing that was read may have been encrypted.
    await requireWorkable(deps, job, true);
    if (job.plannedAt === null) await plan(deps, job);
    if (await hasOpenRuns(deps.db, id)) await sendRuns(deps, job, FIRST_MESSAGES);
    else if ((await findJob(deps.db, id))?.plannedAt) await finishExport(deps, job);
  } catch (error) {
    await noteJobFailure(deps, job, error);
  }
}

const nextAttempt = ({ limits, now }: ExportDeps, failed: number) =>
  retryTime(evenRetries(limits.retries, limits.retryDelay / 1000), failed, now());

export async function noteJobFailure(deps: ExportDeps, job: ExportRow, error: unknown): Promise<void> {
  const reason = describeFailure(error);
  const next = nextAttempt(deps, job.retries);
  if (isPermanent(error) || next === undefined) {
    await failJob(deps.db, job.id, reason, deps.now());
    return startNext(deps, job.workspaceId);
  }
  await noteJobRetry(deps.db, job.id, reason, next);
  await deps.send({ exportId: job.id }, (next - deps.now()) / 1000);
}

/** Sends messages for the next runs of an export, until `most` are on their way or the export has its share of all. */
async function sendRuns(deps: ExportDeps, job: ExportRow, most = deps.limits.runsPerExport): Promise<void> {
  const { destinationId } = job;
  const { inFlight, runsPerExport } = deps.limits;
  const room = { inFlight, runsPerExport: Math.min(most, runsPerExport) };
  for (const runId of await takeRunsToSend(deps.db, job, room, deps.now())) {
    await deps.send({ runId, destinationId });
  }
}

/**
 * Exports a run, and then the next ones of its export: most days of a small export take less time than a message does.
 * Ends when none is left, the time is up, or another destination waits.
 */
async function advanceRuns(deps: ExportDeps, id: string): Promise<void> {
  const until = deps.now() + deps.limits.invocation;
  let run = await leaseRun(deps.db, id, deps.now(), deps.now() + deps.limits.lease);
  if (!run) return clearEnded(deps, id);
  const { exportId } = run;
  const job = await findJob(deps.db, exportId);
  if (!job) return;
  let sent = deps.now();
  while (run) {
    if (!(await exportRun(deps, job, run, until))) return;
    const goesOn = mayContinue(deps, job, until);
    if (!goesOn || deps.now() - sent >= BUSY_MS) {
      await sendRuns(deps, job);
      sent = deps.now();
    }
    if (!goesOn) break;
    run = await leaseNextRun(deps.db, exportId, deps.now(), deps.now() + deps.limits.lease);
  }
  // The manifest is written now: a message to do it would delay the end of a small export. The sweep repeats a failed attempt.
  if (!(await hasOpenRuns(deps.db, exportId))) await advanceExport(deps, exportId);
}

const mayContinue = (deps: ExportDeps, { destinationId }: ExportRow, until: number): boolean =>
  deps.now() < until && !deps.slots.isWanted(destinationId, deps.now());

/** Exports slices of a claimed run. True when it is complete; otherwise a message or the sweep continues it. */
async function exportRun(deps: ExportDeps, job: ExportRow, claimed: ExportRunRow, until: number): Promise<boolean> {
  let run = claimed;
  if (run.failedAttempts > deps.limits.retries) {
    await fail(deps, job, run, INTERRUPTED);
    return false;
  }
  await deps.at("claimed");
  try {
    const opened = await openDestination(deps, job);
    do {
      await requireWorkable(deps, job);
      run = await exportSlice(deps, { run, job, ...opened });
      deps.slots.answered(job.destinationId);
    } while (run.status === "RUNNING" && mayContinue(deps, job, until));
    if (run.status !== "RUNNING") return true;
    await releaseLease(deps.db, run, deps.now());
    await deps.send({ runId: run.id, destinationId: job.destinationId });
  } catch (error) {
    if (error instanceof LeaseLost) await clearEnded(deps, run.id);
    else await noteRunFailure(deps, job, run, error);
  }
  return false;
}

async function noteRunFailure(deps: ExportDeps, job: ExportRow, run: ExportRunRow, error: unknown): Promise<void> {
  const reason = describeFailure(error);
  if (error instanceof StoreError && error.code === UNANSWERED) deps.slots.hung(job.destinationId, deps.now());
  const now = deps.now();
  const nextAttemptAt = nextAttempt(deps, run.failedAttempts);
  if (isPermanent(error) || nextAttemptAt === undefined) return fail(deps, job, run, reason);
  await noteRetry(deps.db, run, { reason, now, nextAttemptAt });
  await deps.send({ runId: run.id, destinationId: job.destinationId }, (nextAttemptAt - now) / 1000);
}

async function fail(deps: ExportDeps, job: ExportRow, run: ExportRunRow, reason: string): Promise<void> {
  await failRun(deps.db, run, reason, deps.now());
  await startNext(deps, job.workspaceId);
}

/** Aborts the upload that a run left open when it was cancelled, failed or timed out. */
async function clearEnded(deps: ExportDeps, id: string): Promise<void> {
  const now = deps.now();
  const run = await leaseRemains(deps.db, id, now, now + deps.limits.lease);
  const job = run && (await findJob(deps.db, run.exportId));
  if (!job) return;
  try {
    await clearRemains((await openDestination(deps, job)).store, run);
  } catch (error) {
    // A permanent error leaves the remains in the store. After any other error the sweep tries again.
    if (!isPermanent(error)) return;
  }
  await forgetRemains(deps.db, run);
}

/** Whether the store would say the same each time. */
const isPermanent = (error: unknown): boolean => error instanceof StoreError && error.permanent;

/** The owner of the export sees the store's reason. Other errors are logged only. */
function describeFailure(error: unknown): string {
  if (error instanceof StoreError) return error.message;
  logError(error);
  return "InternalError: the server failed; it has been logged";
}

// Consumes queue messages of exports. A message is only a wake-up: the ledger in D1 holds the state.

/**
 * Failed deliveries of a message before it counts as a failed attempt. `max_retries` in wrangler.toml must not be
 * lower.
 */
const MAX_DELIVERIES = 5;

const MessageShape = v.union([
  v.strictObject({ exportId: v.string() }),
  v.strictObject({ runId: v.string(), destinationId: v.optional(v.string()) }),
]);

/** True for a message of exports. The queue's name does not matter. */
export const isExportMessage = (message: Message): message is Message<ExportMessage> =>
  v.is(MessageShape, message.body);

/** Handles messages one after the other. */
export async function consumeExports(messages: Message<ExportMessage>[], env: Env): Promise<void> {
  const deps = createExportDeps(env);
  for (const message of messages) {
    if (message.attempts > MAX_DELIVERIES) await noteDeath(deps, message.body);
    else await handleInTurn(deps, message.body);
    await deps.at("before ack");
    message.ack();
  }
}

async function handleInTurn(deps: ExportDeps, sent: ExportMessage): Promise<void> {
  if ("exportId" in sent) return advance(deps, sent);
  const destination = sent.destinationId ?? sent.runId;
  const wait = deps.slots.take(destination, deps.now());
  if (wait > 0) return deps.send(sent, Math.ceil(wait / 1000));
  try {
    await advance(deps, sent);
  } finally {
    deps.slots.give(destination);
  }
}

/**
 * Counts a failed attempt of an export whose message failed five times. For a run, the next claim counts the attempt and the
 * sweep sends a new message.
 */
async function noteDeath(deps: ExportDeps, sent: ExportMessage): Promise<void> {
  if (!("exportId" in sent)) return;
  const job = await findJob(deps.db, sent.exportId);
  if (job?.status === "RUNNING") await noteJobFailure(deps, job, new StoreError(INTERRUPTED, "Interrupted", false));
}

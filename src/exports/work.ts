/** Consumes queue messages of exports. A message is only a wake-up: the ledger in D1 holds the state. */
import * as v from "valibot";
import { logError } from "../http/log.ts";
import { StoreError } from "../s3/errors.ts";
import { type Deps, depsOf, type Wake } from "./deps.ts";
import { finish, startNext } from "./finish.ts";
import { failJob, findJob, hasOpenRuns, noteJobRetry, takeRunsToSend } from "./ledger/jobs.ts";
import {
  claimRemains,
  claimRun,
  failRun,
  forgetRemains,
  INTERRUPTED,
  noteRetry,
  releaseLease,
} from "./ledger/lease.ts";
import { openDestination } from "./open-destination.ts";
import { plan } from "./plan.ts";
import { clearRemains, exportSlice, LeaseLost } from "./slice.ts";
import type { ExportRow, ExportRunRow } from "./store.ts";

/** Export runs at work in this isolate: they share its 128 MB, and the queue may send more here than fit. */
let atWork = 0;

/**
 * Failed deliveries of a message before it counts as a failed attempt. `max_retries` in wrangler.toml must not be
 * lower.
 */
const MOST_DELIVERIES = 5;

const WakeShape = v.union([v.strictObject({ exportId: v.string() }), v.strictObject({ runId: v.string() })]);

/** True for a message of exports. The queue's name does not matter. */
export const isWake = (message: Message): message is Message<Wake> => v.is(WakeShape, message.body);

/** Handles messages one after the other. */
export async function work(messages: Message<Wake>[], env: Env): Promise<void> {
  const deps = depsOf(env);
  for (const message of messages) {
    if (message.attempts > MOST_DELIVERIES) await noteDeath(deps, message.body);
    else await handleInTurn(deps, message.body);
    await deps.at("before ack");
    message.ack();
  }
}

async function handleInTurn(deps: Deps, wake: Wake): Promise<void> {
  if ("exportId" in wake) return handle(deps, wake);
  if (atWork >= deps.limits.runsPerIsolate) return deps.send(wake, 1);
  atWork++;
  try {
    await handle(deps, wake);
  } finally {
    atWork--;
  }
}

/** Does what one message asks for. Errors of the store are noted in the ledger; anything else is thrown. */
export async function handle(deps: Deps, wake: Wake): Promise<void> {
  if ("exportId" in wake) await advanceExport(deps, wake.exportId);
  else await advanceRun(deps, wake.runId);
}

/** Plans a running export, sends its next runs, or writes its manifest: whichever is due. */
async function advanceExport(deps: Deps, id: string): Promise<void> {
  const job = await findJob(deps.db, id);
  if (job?.status !== "RUNNING") return;
  try {
    if (job.plannedAt === null) await plan(deps, job);
    if (await hasOpenRuns(deps.db, id)) await sendRuns(deps, job);
    else if ((await findJob(deps.db, id))?.plannedAt) await finish(deps, job);
  } catch (error) {
    await noteJobFailure(deps, job, error);
  }
}

async function noteJobFailure(deps: Deps, job: ExportRow, error: unknown): Promise<void> {
  const reason = reasonOf(error);
  if (isPermanent(error) || job.retries >= deps.limits.retries) {
    await failJob(deps.db, job.id, reason, deps.now());
    return startNext(deps, job.workspaceId);
  }
  await noteJobRetry(deps.db, job.id, reason, deps.now() + deps.limits.retryDelay);
  await deps.send({ exportId: job.id }, deps.limits.retryDelay / 1000);
}

async function sendRuns(deps: Deps, job: ExportRow): Promise<void> {
  for (const runId of await takeRunsToSend(deps.db, job, deps.limits, deps.now())) await deps.send({ runId });
}

/** Exports slices of a run until it is done, its time is up, or something is wrong. */
async function advanceRun(deps: Deps, id: string): Promise<void> {
  const startedAt = deps.now();
  let run = await claimRun(deps.db, id, startedAt, startedAt + deps.limits.lease);
  if (!run) return clearEnded(deps, id);
  const job = await findJob(deps.db, run.exportId);
  if (!job) return;
  if (run.retryNumber > deps.limits.retries) return fail(deps, job, run, INTERRUPTED);
  await deps.at("claimed");
  try {
    const opened = await openDestination(deps, job);
    do {
      run = await exportSlice(deps, { run, job, ...opened });
    } while (run.status === "RUNNING" && deps.now() - startedAt < deps.limits.invocation);
    if (run.status === "RUNNING") {
      await releaseLease(deps.db, run, deps.now());
      return await deps.send({ runId: id });
    }
  } catch (error) {
    if (error instanceof LeaseLost) return clearEnded(deps, id);
    return noteRunFailure(deps, job, run, error);
  }
  await sendRuns(deps, job);
  if (!(await hasOpenRuns(deps.db, job.id))) await deps.send({ exportId: job.id });
}

async function noteRunFailure(deps: Deps, job: ExportRow, run: ExportRunRow, error: unknown): Promise<void> {
  const reason = reasonOf(error);
  if (isPermanent(error) || run.retryNumber >= deps.limits.retries) return fail(deps, job, run, reason);
  const nextAttemptAt = deps.now() + deps.limits.retryDelay;
  await noteRetry(deps.db, run, { reason, now: deps.now(), nextAttemptAt });
  await deps.send({ runId: run.id }, deps.limits.retryDelay / 1000);
}

async function fail(deps: Deps, job: ExportRow, run: ExportRunRow, reason: string): Promise<void> {
  await failRun(deps.db, run, reason, deps.now());
  await startNext(deps, job.workspaceId);
}

/** Aborts the upload that a run left open when it was cancelled, failed or timed out. */
async function clearEnded(deps: Deps, id: string): Promise<void> {
  const now = deps.now();
  const run = await claimRemains(deps.db, id, now, now + deps.limits.lease);
  const job = run && (await findJob(deps.db, run.exportId));
  if (!job) return;
  try {
    await clearRemains((await openDestination(deps, job)).store, run);
  } catch (error) {
    // A store that will never let us in keeps its remains; any other is asked again by the sweep.
    if (!isPermanent(error)) return;
  }
  await forgetRemains(deps.db, run);
}

/**
 * Counts a failed attempt of an export whose message failed five times. For a run, the next claim counts the attempt and the
 * sweep sends a new message.
 */
async function noteDeath(deps: Deps, wake: Wake): Promise<void> {
  if (!("exportId" in wake)) return;
  const job = await findJob(deps.db, wake.exportId);
  if (job?.status === "RUNNING") await noteJobFailure(deps, job, new StoreError(INTERRUPTED, "Interrupted", false));
}

/** Whether the store would say the same each time. */
const isPermanent = (error: unknown): boolean => error instanceof StoreError && error.permanent;

/** A store's reason is for the owner of the export; anything else is for the log. */
function reasonOf(error: unknown): string {
  if (error instanceof StoreError) return error.message;
  logError(error);
  return "InternalError: the server failed; it has been logged";
}

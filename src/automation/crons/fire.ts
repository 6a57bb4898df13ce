/**
 * From the clock to runs. A tick writes each due time into a ledger and moves the cron on in one transaction; then a queue
 * message starts the run, under an id made from the cron and the due time. So a tick that is late, repeated or missing,
 * and a message that is repeated or lost, change nothing: each due time starts one run.
 */
import { type Database, database } from "../../db/client.ts";
import { logError } from "../../lib/log.ts";
import { toProblem } from "../../lib/problem.ts";
import { deriveUuid } from "../../lib/uuid.ts";
import { dueTimes, nextDue } from "./schedule.ts";
import {
  type CronRow,
  deleteCron,
  deleteOldFirings,
  type DueCron,
  dueCrons,
  type Firing,
  findCron,
  findFiring,
  type Move,
  recordDue,
  refuseFiring,
  setFiring,
  takeFirings,
} from "./store.ts";

/** The run, and the thread when the cron has none of its own, that a firing makes. */
export interface FiringIds {
  threadId: string;
  runId: string;
}

/** What a firing does to threads. */
export interface Threads {
  /** Starts the run; two calls with the same ids start one run. */
  start(cron: CronRow, ids: FiringIds): Promise<void>;
  exists(workspaceId: string, threadId: string): Promise<boolean>;
  /** How the run ended, undefined while it is open. A run of a deleted thread counts as ended. */
  outcome(workspaceId: string, ids: FiringIds): Promise<"ended" | "failed" | undefined>;
  /** Deletes the firing's own thread. False while it has another run that is open. */
  remove(workspaceId: string, threadId: string): Promise<boolean>;
}

const CRONS_PER_TICK = 500;
const MESSAGES_PER_BATCH = 100;
/** A message without effect for this long is considered lost. */
const LOST_MS = 60_000;
/** The longest time between two messages that check whether a run has ended. A run may take days. */
const LONGEST_PAUSE_MS = 15 * 60_000;
const KEPT_MS = 7 * 24 * 3_600_000;
/** A run that could not be started for this long, for a fault of ours, is given up. */
const GIVEN_UP_MS = 24 * 3_600_000;

/** Records due times and sends a message for every firing with pending work. Returns how many messages. */
export async function fireDueCrons(env: Pick<Env, "DB" | "CRON_QUEUE">, now: number): Promise<number> {
  const db = database(env.DB);
  const due = await dueCrons(db, now, CRONS_PER_TICK);
  await recordDue(
    db,
    due.map((cron) => planMove(cron, now)),
  );
  const waiting = [
    ...(await takeFirings(db, "due", { before: now - LOST_MS, now, limit: 1000 })),
    ...(await takeFirings(db, "started", { before: now - LOST_MS, now, limit: 1000, longest: LONGEST_PAUSE_MS })),
    ...(await takeFirings(db, "followed", { before: now - LOST_MS, now, limit: 1000, longest: LONGEST_PAUSE_MS })),
  ];
  for (let n = 0; n < waiting.length; n += MESSAGES_PER_BATCH) {
    await env.CRON_QUEUE.sendBatch(waiting.slice(n, n + MESSAGES_PER_BATCH).map((body) => ({ body })));
  }
  await deleteOldFirings(db, now - KEPT_MS);
  return waiting.length;
}

/** Runs the pending work of one firing: starts its run, or cleans up after it. Safe to repeat. */
export async function startFiring(db: Database, firing: Firing, threads: Threads, now: number): Promise<void> {
  const found = await findFiring(db, firing);
  if (!found) return;
  const ids = firingIds(firing, found.threadId ?? undefined);
  if (found.state === "due") await start(db, firing, ids, threads, now);
  if (found.state !== "started" && found.state !== "followed") return;
  const outcome = await threads.outcome(firing.workspaceId, ids);
  if (outcome === undefined) return;
  if (found.state === "started" && !(await threads.remove(firing.workspaceId, ids.threadId))) return;
  await setFiring(db, firing, { from: found.state, to: outcome }, now);
}

/** The due times of a cron up to `now`, and its next due time. */
function planMove(cron: DueCron, now: number): Move {
  const { id, nextRunDate: from } = cron;
  try {
    const due = dueTimes(cron, from, now);
    return { id, from, due, next: nextDue(cron, Math.max(now, due.at(-1) ?? from)) };
  } catch (error) {
    // One cron that cannot be read must not keep the others from firing.
    logError(error, { cron_id: id });
    return { id, from, due: [], next: null };
  }
}

async function start(db: Database, firing: Firing, ids: FiringIds, threads: Threads, now: number): Promise<void> {
  const cron = await findCron(db, firing.workspaceId, firing.cronId);
  if (!cron) return refuseFiring(db, firing, now);
  try {
    await threads.start(cron, ids);
  } catch (error) {
    const { status, detail } = toProblem(error);
    if (status >= 500 && now - firing.due < GIVEN_UP_MS) throw error;
    logError(detail, { cron_id: cron.id, due: firing.due });
    // A thread may expire without a request that deletes it.
    if (cron.threadId !== null && !(await threads.exists(cron.workspaceId, cron.threadId)))
      await deleteCron(db, cron.workspaceId, cron.id);
    return refuseFiring(db, firing, now);
  }
  const leavesThread = cron.threadId === null && cron.onRunCompleted === "delete";
  await setFiring(db, firing, { from: "due", to: leavesThread ? "started" : "followed" }, now);
}

/** The ids of a firing's run and thread. They depend on the cron and the due time only. */
export function firingIds({ cronId, due }: Pick<Firing, "cronId" | "due">, threadId: string | undefined): FiringIds {
  const text = `cron\n${cronId}\n${due}`;
  return { threadId: threadId ?? deriveUuid(`${text}\nthread`), runId: deriveUuid(`${text}\nrun`) };
}

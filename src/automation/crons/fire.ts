/**
 * From the clock to runs. A tick writes each due time into a ledger and moves the cron on in one transaction; then a queue
 * message starts the run, under an id made from the cron and the due time. So a tick that is late, repeated or missing,
 * and a message that is repeated or lost, change nothing: each due time starts one run.
 */
import { type Database, database } from "../../db/client.ts";
import { logError } from "../../lib/log.ts";
import { toNumbers } from "../../lib/json.ts";
import { toProblem, Problem } from "../../lib/problem.ts";
import { deriveUuid } from "../../lib/uuid.ts";
import { dueTimes, nextDue } from "./schedule.ts";
import {
  type CronRow,
  deleteCron,
  deleteOldFirings,
  type DueCron,
  dueCrons,
  type FiringRow,
  findCron,
  findFiring,
  type CronMove,
  recordDue,
  noteFiringFailure,
  setFiring,
  takeFirings,
  openCron,
} from "./store.ts";
import { LOCAL_WORKSPACE_ID, type Principal, type AppUser } from "../../http/principal.ts";
import { openSecret, sealSecret } from "../../access/encryption/keys.ts";
import { hasUsers } from "../../access/users/handlers.ts";
import { readConfigurable, runRequest } from "../../threads/api/request.ts";
import { threadStub } from "../../threads/remote.ts";
import type { StoredWebhook } from "../../deliveries/receiver.ts";
import type { RunCreate } from "../../threads/api/schema.ts";
import * as v from "valibot";
import { inParallel } from "../../lib/parallel.ts";

/** The run, and the thread when the cron has none of its own, that a firing makes. */
export interface FiringIds {
  threadId: string;
  runId: string;
}

/** What a firing does to threads. */
export interface CronThreads {
  /** Starts the run; two calls with the same ids start one run. */
  start(cron: CronRow, ids: FiringIds): Promise<void>;
  exists(workspaceId: string, threadId: string): Promise<boolean>;
  /** How the run ended, undefined while it is open. A run of a deleted thread counts as ended. */
  outcome(workspaceId: string, ids: FiringIds): Promise<"ended" | "failed" | undefined>;
  /** Deletes the firing's own thread, or has it deleted once no interrupt waits there. False while it has another run that is open. */
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
export async function startFiring(db: Database, firing: FiringRow, threads: CronThreads, now: number): Promise<void> {
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
function planMove(cron: DueCron, now: number): CronMove {
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

async function start(
  db: Database,
  firing: FiringRow,
  ids: FiringIds,
  threads: CronThreads,
  now: number,
): Promise<void> {
  const cron = await findCron(db, firing.workspaceId, firing.cronId);
  if (!cron) return noteFiringFailure(db, firing, "refused", "The cron was deleted.", now);
  try {
    await threads.start(cron, ids);
  } catch (error) {
    const { status, detail, more } = toProblem(error);
    // An earlier delivery of the message has started the run, which has been deleted since.
    if (more.code !== "run_deleted") {
      if (status >= 500 && now - firing.due < GIVEN_UP_MS) {
        await noteFiringFailure(db, firing, "due", detail, now);
        throw error;
      }
      logError(detail, { cron_id: cron.id, due: firing.due });
      // A thread may expire without a request that deletes it.
      if (cron.threadId !== null && !(await threads.exists(cron.workspaceId, cron.threadId)))
        await deleteCron(db, cron.workspaceId, cron.id);
      return noteFiringFailure(db, firing, "refused", detail, now);
    }
  }
  const leavesThread = cron.threadId === null && cron.onRunCompleted === "delete";
  await setFiring(db, firing, { from: "due", to: leavesThread ? "started" : "followed" }, now);
}

/** The ids of a firing's run and thread. They depend on the cron and the due time only. */
export function firingIds({ cronId, due }: Pick<FiringRow, "cronId" | "due">, threadId: string | undefined): FiringIds {
  const text = `cron\n${cronId}\n${due}`;
  return { threadId: threadId ?? deriveUuid(`${text}\nthread`), runId: deriveUuid(`${text}\nrun`) };
}

// The user of a cron: whose runs it starts. Kept encrypted, because an `Auth` may put tokens into its users.

type CronOwner = Pick<CronRow, "userId" | "user">;

const userPurpose = (cronId: string) => `cron:${cronId}:user`;

/** The columns that name the user; without a user the cron is the workspace's. */
export async function sealCronUser(
  env: Env,
  { id, workspaceId }: Pick<CronRow, "id" | "workspaceId">,
  user: AppUser | undefined,
): Promise<CronOwner> {
  if (!user) return { userId: null, user: null };
  const sealed = await sealSecret(env, workspaceId, JSON.stringify(user), userPurpose(id));
  return { userId: user.identity, user: sealed };
}

/** Who acts when the cron fires. Throws 403 when the deployment no longer has its users. */
export async function cronPrincipal(env: Env, cron: CronRow): Promise<Principal> {
  const { id, workspaceId } = cron;
  const acts = { workspaceId, scopes: ["read", "write"] as const, credentialId: id };
  if (cron.userId === null) return { ...acts, kind: "cron" };
  const home = env.AUTH_WORKSPACE_ID?.toLowerCase() ?? LOCAL_WORKSPACE_ID;
  if (!(await hasUsers()) || home !== workspaceId.toLowerCase())
    throw new Problem(403, "The deployment no longer has users in the workspace of this cron.");
  return { ...acts, kind: "user", user: await readCronUser(env, cron) };
}

async function readCronUser(env: Env, { id, workspaceId, user }: CronRow): Promise<AppUser> {
  if (user === null) throw new Error("The cron has an identity and no user.");
  return JSON.parse(await openSecret(env, workspaceId, user, userPurpose(id))) as AppUser;
}

// A firing's run, on the thread that runs it.

/** What a firing does to the deployment's threads. */
export function threadsFor(env: Env): CronThreads {
  return {
    start: (cron, ids) => startRun(env, cron, ids),
    exists: async (workspaceId, threadId) => Boolean(await threadStub(env, workspaceId, threadId).get()),
    async outcome(workspaceId, { threadId, runId }) {
      const run = await threadStub(env, workspaceId, threadId).getRun(runId);
      if (run?.status === "pending" || run?.status === "running") return undefined;
      return run?.status === "error" || run?.status === "timeout" ? "failed" : "ended";
    },
    remove: async (workspaceId, threadId) => threadStub(env, workspaceId, threadId).removeIdle(),
  };
}

async function startRun(env: Env, row: CronRow, { threadId, runId }: FiringIds): Promise<void> {
  const cron = await openCron(env, row);
  const body = {
    ...cron.payload,
    input: toNumbers(cron.payload.input),
    assistant_id: cron.assistantId,
    metadata: { ...cron.metadata, cron_id: cron.id },
    if_not_exists: cron.threadId === null ? "create" : "reject",
  };
  const principal = await cronPrincipal(env, cron);
  const by = { env, principal, configurable: readConfigurable(new Headers(), principal) };
  // Each firing checks again whether its user may run the assistant there.
  const request = await runRequest(by, threadId, body as unknown as RunCreate, runId);
  const { own_webhook } = cron.payload as StoredWebhook;
  await threadStub(env, cron.workspaceId, threadId).startRun({ ...request, own_webhook });
}

// Consumes queue messages of crons. One message is one firing.

/** Concurrent firings. Each loads its cron's payload of up to 1 MiB. */
const AT_ONCE = 5;

const FiringShape = v.strictObject({ workspaceId: v.string(), cronId: v.string(), due: v.number() });

/** True for a message of crons. The queue's name does not matter. */
export const isFiring = (message: Message): message is Message<FiringRow> => v.is(FiringShape, message.body);

/** Handles each message separately. A message that fails is retried; the others are not affected. */
export async function workCrons(messages: Message<FiringRow>[], env: Env): Promise<void> {
  const db = database(env.DB);
  const threads = threadsFor(env);
  await inParallel(messages, AT_ONCE, async (message) => {
    try {
      await startFiring(db, message.body, threads, Date.now());
      message.ack();
    } catch (error) {
      logError(error, { firing: message.body });
      message.retry();
    }
  });
}

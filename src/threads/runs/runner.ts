/**
 * The thread's runs: one at a time, in the order in which they are due, each to an end. Every change of a run's status is committed
 * together with its events.
 */
import type { RunError, CancelAction, Run, RunStatus, StopReason } from "../types.ts";
import {
  type RunOutcome,
  busy,
  type ResumeRefusal,
  toRunRecord,
  type RunRecord,
  readStrategy,
  takesSlots,
  transition,
  orderRuns,
  isInFlight,
} from "../run.ts";
import { type PriorAttempt, Emitter, readPriorAttempt } from "../log/emit.ts";
import { logError } from "../../lib/log.ts";
import { remoteProblem } from "../../lib/problem.ts";
import type { Tracer } from "../../runtime/tracer.ts";
import { execute, createTracer } from "./execute.ts";
import { readSpending } from "./spending.ts";
import { SlotGate } from "./gate.ts";
import {
  listRunFeedback,
  interruptsAtEnd,
  showThread,
  emitEnd,
  type RunEnding,
  recordAfter,
  unusedByRun,
} from "./ending.ts";
import { recordResponses, describeAccepted, undoResponses } from "../interrupts/responses.ts";
import { type Outbox, queueSideEffects } from "./outbox.ts";
import type { ThreadContext } from "../context.ts";
import {
  checkContinuation,
  forkedFrom,
  isAside,
  refuseLateResponses,
  chooseWrite,
  newRun,
  repeatedRun,
  threadFor,
  withConfigOfRaiser,
  findRunToJoin,
} from "./insert.ts";
import { ownerReplaced, type ThreadRecord, withOwner } from "../record.ts";
import type { RunRequest } from "../rpc.ts";
import { isMigrated } from "../state/migrate.ts";
import { hasNextStep, readWritten } from "../state/state.ts";
import { refusedError } from "../interrupts/resume.ts";
import { joinTask, queueTaskBegin } from "./tasks.ts";
import { removeRun } from "../state/prune.ts";
import { acceptSent, readSent, type SentReaders } from "./sent.ts";

// How often and how long a run is tried. Every deploy restarts all objects, so an attempt counts against the limit only
// when the run has finished no task since the one before: a long run survives many deploys, and a run that exceeds the
// memory or CPU of its isolate is ended instead of crashing it again.

/** Seconds a run may take over all its attempts, and attempts without progress, when the deployment does not say. */
const RUN_TIMEOUT = 3_600;
const MAX_ATTEMPTS = 3;
/** Milliseconds that a timer takes at most. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Whether a run whose process stopped has no attempts left. */
export function attemptsSpent(env: Env, outcome: RunOutcome, prior: PriorAttempt): boolean {
  return countDeaths(outcome, prior) >= Number(env.RUN_MAX_ATTEMPTS ?? MAX_ATTEMPTS);
}

/** The part of the outcome for the attempt that begins. `prior` is set from the second attempt on. */
export function countAttempt(
  outcome: RunOutcome,
  prior?: PriorAttempt,
): Pick<RunOutcome, "attempt" | "deaths" | "finished"> {
  const attempt = outcome.attempt + 1;
  return prior ? { attempt, deaths: countDeaths(outcome, prior), finished: prior.finished.size } : { attempt };
}

/** Milliseconds that the run has left; they count from its first attempt. */
export function timeLeft(env: Env, { began = Date.now() }: RunOutcome): number {
  const seconds = Number(env.RUN_TIMEOUT_SECONDS ?? RUN_TIMEOUT);
  return Math.min(Math.max(0, began + seconds * 1000 - Date.now()), MAX_TIMER_MS);
}

/** The error of a run that is not started again. */
export function diedError(outcome: RunOutcome, prior: PriorAttempt): RunError {
  const names = [...new Set(prior.inFlight)].map((name) => `"${name}"`).join(", ");
  const where = names ? `while ${names} was running` : "before a node began";
  return {
    error: "RunAttemptsExceeded",
    message: `The server process stopped ${countDeaths(outcome, prior)} times in this run ${where}, most likely out of memory or CPU time. The run is not started again.`,
  };
}

/** How often in a row the process has stopped without another finished task of the run, including the last time. */
function countDeaths({ finished = -1, deaths = 0 }: RunOutcome, prior: PriorAttempt): number {
  return prior.finished.size > finished ? 1 : deaths + 1;
}

/** When a run's tokens are written, by its `durability`. */
const TOKEN_WRITES = { sync: "first", async: "soon", exit: "late" } as const;

/**
 * The record from the beginning of the run on: with its graph and assistant, unless it executes nothing. The run's row says that it has
 * begun, so the record is written with the run's end, and made again from the row when the object restarts.
 */
const begunRecord = (record: ThreadRecord, { request, outcome }: RunRecord): ThreadRecord =>
  outcome.refusal || outcome.idle ? record : { ...withOwner(record, request), updated: Date.now() };

interface Active {
  run: RunRecord;
  stop: AbortController;
  emitter: Emitter;
}

export class Runner {
  /** Pending and running, in the order they will run. */
  #open: RunRecord[];
  #active: Active | undefined;
  #waiters = new Map<string, (() => void)[]>();
  /** Ended, but its end is not yet published. */
  #settling = new Set<string>();
  /** How many changes of the state exclude runs, and the end of the last one. */
  #held = 0;
  #exclusive: Promise<unknown> = Promise.resolve();
  readonly #gate: SlotGate;

  constructor(
    private readonly context: ThreadContext,
    private readonly outbox: Outbox,
    private readonly arm: () => void,
    private readonly readers: SentReaders,
  ) {
    this.#open = orderRuns(context.tables.runs.open().map(toRunRecord));
    const running = this.#open.find(({ status }) => status === "running");
    if (context.record && running) context.record = begunRecord(context.record, running);
    this.#gate = new SlotGate(context, () => {
      this.#continue();
      // Readers of a run that waits may let the object rest.
      context.eventLog.notify();
    });
    if (running) context.eventLog.skipUnwritten();
  }

  get open(): readonly RunRecord[] {
    return this.#open;
  }

  /** Whether a run is in flight. One that is not due yet is not. */
  get busy(): boolean {
    const now = Date.now();
    return this.#open.some((run) => isInFlight(run, now));
  }

  /**
   * Whether no run is in progress, nor the end of one. A run that waits for its time begins by an alarm, one that waits for
   * slots by a call.
   */
  get resting(): boolean {
    return !this.#active && (!this.busy || this.slotsBy !== undefined) && this.#settling.size === 0;
  }

  /** When the first run claims its slots again, if it waits for the limiter to call. */
  get slotsBy(): number | undefined {
    return this.#gate.waitsUntil(this.#open[0]);
  }

  settled(runId: string): boolean {
    return !this.open.some((run) => run.id === runId) && !this.#settling.has(runId);
  }

  /** Inserts the run by its multitask strategy, and starts it when it is its turn. `isRead`: its caller reads its stream. */
  create(given: RunRequest, isRead = false): RunRecord {
    const known = this.context.run(given.run_id) ?? repeatedRun(this.context, this.open, given);
    if (known) return known;
    if (!given.strict_resume) refuseLateResponses(this.context, this.open, given);
    const accepted = acceptSent(this.context, this.readers, given, this.#active?.emitter);
    const joined = findRunToJoin(this.open, accepted);
    if (joined) return this.#join(accepted, joined);
    const request = withConfigOfRaiser(this.context, accepted);
    const strategy = readStrategy(request);
    const record = threadFor(this.context, request);
    if (strategy === "reject" && this.open.length > 0) throw busy();
    const text = JSON.stringify(request);
    const created = newRun(this.open, request, text.length);
    const before = [...this.open];
    const starts =
      !this.#active && this.#held === 0 && isInFlight(created) && !this.busy && !request.flow && !request.sent?.body;
    const { eventLog, tables } = this.context;
    const run = eventLog.commit(() => {
      const made = starts ? this.#begin(created, record) : created;
      eventLog.due(() => {
        if (!this.context.record) this.context.writeRecord(record);
        const row = { run_id: made.id, created: made.created, status: made.status, request: text };
        tables.runs.insert({ ...row, outcome: starts ? JSON.stringify(made.outcome) : null });
        joinTask(this.context, request);
        if (!starts) return;
        queueTaskBegin(this.context, made);
        recordResponses(this.context, made);
      });
      return made;
    }, chooseWrite);
    if (isRead) eventLog.expectReader();
    this.context.keepRecord(starts ? begunRecord(record, run) : record);
    this.#open = orderRuns([...before, run]);
    this.context.projectSoon(this);
    if (starts) this.#launch(run);
    if (strategy === "interrupt" || strategy === "rollback") for (const one of before) this.stop(one.id, strategy);
    if (request.flow || request.sent?.body) this.next();
    this.arm();
    // When the runs before it have only waited, it has begun.
    return this.#open.find((one) => one.id === run.id) ?? run;
  }

  /** The request is one more of the open run. */
  #join(request: RunRequest, run: RunRecord): RunRecord {
    const { tables } = this.context;
    tables.transaction(() => tables.runs.join(request.run_id, run.id));
    return run;
  }

  /** Starts the next due run when none is running. Resumes the run whose process stopped. */
  next(): void {
    const run = this.#turn();
    if (run?.request.sent?.body) this.context.ctx.waitUntil(this.#read(run));
    else if (run) this.#start(run);
  }

  /** The run whose turn it is to begin, or to continue after its process stopped. */
  #turn(): RunRecord | undefined {
    if (this.#active || this.#held > 0) return undefined;
    const [run] = this.open;
    return run && isInFlight(run) && this.#gate.opens(run) ? run : undefined;
  }

  /** Reads what was sent, and begins the run with it. Nothing else changes the thread in the meantime. */
  async #read(run: RunRecord): Promise<void> {
    this.#held += 1;
    const read = await readSent(this.context, this.readers, run);
    this.#held -= 1;
    if (this.context.gone) return;
    try {
      const next = this.#turn();
      if (next?.id === run.id) this.#start({ ...next, ...read });
      else this.next();
    } catch (error) {
      logError(error, { thread: this.context.threadId, while: "starting a run with what was sent" });
    }
    this.arm();
  }

  #start(waiting: RunRecord): void {
    const others = this.open.slice(1);
    const { eventLog, tables } = this.context;
    const record = this.context.record as ThreadRecord;
    const { attempt, first_seq = 1 } = waiting.outcome;
    const prior = attempt > 0 ? readPriorAttempt(tables, first_seq, waiting.id) : undefined;
    if (prior && attemptsSpent(this.context.env, waiting.outcome, prior)) return this.#giveUp(waiting, prior);
    const run = eventLog.commit(() => {
      const begun = this.#begin(waiting, record, prior);
      eventLog.due(() => {
        tables.runs.set(begun.id, begun.status, JSON.stringify(begun.outcome));
        if (attempt === 0 && begun.request.sent) tables.runs.setRequest(begun.id, JSON.stringify(begun.request));
        if (attempt === 0) queueTaskBegin(this.context, begun);
        // The answer is given again: LangGraph would take the one of the attempt before for the first question, and this for the next.
        else if (begun.outcome.answered) this.context.checkpoints.removeResumes(begun.id, forkedFrom(begun));
        recordResponses(this.context, begun);
      });
      return begun;
    }, chooseWrite);
    this.context.keepRecord(begunRecord(record, run));
    this.#open = [run, ...others];
    this.context.projectSoon(this);
    this.#launch(run, prior);
  }

  /** Runs of this thread; the one that waits for slots with its place. */
  async placed<R extends Pick<Run, "run_id">>(runs: R[]): Promise<R[]> {
    return this.#gate.placed(this.#open[0], runs);
  }

  /** The run has its slots and begins; `stopped`: it is stopped. False when it has ended, or there is no such run: its slots are free. */
  grant(runId: string, created: number, stopped: boolean): boolean {
    const run = this.#open.find((one) => one.id === runId && one.created === created);
    if (run && stopped) this.stop(runId, "interrupt");
    else if (run?.status === "pending") {
      this.#gate.grant(runId);
      this.#continue();
    }
    return run !== undefined;
  }

  /**
   * Changes the state while no run is in flight: a run that is created in the meantime begins after it. Calls follow each
   * other. 409 while a run is in flight.
   */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    if (this.busy) throw remoteProblem(409, "The thread has a run in flight. Wait for it to end or cancel it first.");
    this.#held += 1;
    const done = this.#exclusive.then(work);
    this.#exclusive = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      this.#held -= 1;
      if (!this.context.gone) this.#continue();
    }
  }

  /** Starts what has waited. An error of that is not the caller's: the alarm tries again. */
  #continue(): void {
    try {
      this.next();
    } catch (error) {
      logError(error, { thread: this.context.threadId, while: "starting the next run" });
    }
    this.arm();
  }

  /** Stops a run: an active one when its graph next waits, a pending one at once. The stop survives a restart. */
  stop(runId: string, reason: StopReason): void {
    const active = this.#active;
    if (active?.run.id === runId) {
      if (active.stop.signal.aborted) return;
      this.#keepStop(active.run, reason);
      active.stop.abort(reason);
      return;
    }
    const run = this.open.find((one) => one.id === runId);
    if (run) this.#end(run, new Emitter(this.context.eventLog, this.context.values, run.id), "interrupted", { reason });
  }

  #keepStop(run: RunRecord, reason: StopReason): void {
    const { eventLog, tables } = this.context;
    const outcome = { ...run.outcome, stopped: reason };
    eventLog.commit(() => eventLog.due(() => tables.runs.set(run.id, run.status, JSON.stringify(outcome))));
    run.outcome = outcome;
  }

  /** Stops a run. Returns the status of a run that has already ended, and changes nothing of it. 404 when there is no such run. */
  cancel(runId: string, action: CancelAction): RunStatus | undefined {
    const run = this.open.find((one) => one.id === runId);
    if (!run) {
      const ended = this.context.run(runId);
      if (!ended) throw remoteProblem(404, "Run not found.");
      return ended.status;
    }
    this.stop(runId, action);
    return undefined;
  }

  /** Stops every open run and resolves when they have ended. */
  async stopAll(reason: StopReason): Promise<void> {
    const ids = this.open.map((run) => run.id).toReversed();
    for (const id of ids) this.stop(id, reason);
    await Promise.all(ids.map((id) => this.ended(id)));
  }

  /** Resolves once the run has ended and its end is published. */
  async ended(runId: string): Promise<void> {
    if (this.settled(runId)) return;
    await new Promise<void>((resolve) => {
      this.#waiters.set(runId, [...(this.#waiters.get(runId) ?? []), resolve]);
    });
  }

  /** The run as its next attempt begins; appends the events that say so. Called within a commit. */
  #begin(run: RunRecord, record: ThreadRecord, prior?: PriorAttempt): RunRecord {
    const { eventLog, values } = this.context;
    const emitter = new Emitter(eventLog, values, run.id);
    const attempt = run.outcome.attempt + 1;
    // The beginning of an attempt that stopped at once was not written, and no reader has seen it.
    const seen = run.outcome.first_seq !== undefined && eventLog.has(run.outcome.first_seq);
    const again = seen && { attempt };
    const first = emitter.lifecycle([], { event: "running", graph_name: run.request.graph_id, ...again });
    emitter.emit("metadata", [], JSON.stringify({ run_id: run.id, attempt }));
    const { answered, refusal, ...place } = checkContinuation(this.context, run, seen);
    if (answered.length > 0) emitter.emit("input.answered", [], JSON.stringify({ interrupt_ids: answered }));
    const begun = run.status === "pending" ? transition(run, "running") : run;
    const outcome: RunOutcome = {
      ...begun.outcome,
      ...countAttempt(run.outcome, prior),
      began: run.outcome.began ?? Date.now(),
      first_seq: seen ? run.outcome.first_seq : first,
      refusal,
      ...place,
      ...(answered.length > 0 && { answered }),
    };
    const changed = begunRecord(record, { ...begun, outcome });
    return { ...begun, outcome: { ...outcome, replaced: outcome.replaced ?? ownerReplaced(record, changed.metadata) } };
  }

  #launch(run: RunRecord, prior?: PriorAttempt): void {
    const { env, eventLog, values, checkpoints, ctx } = this.context;
    const { refusal, idle, stopped } = run.outcome;
    const stop = new AbortController();
    if (stopped) stop.abort(stopped);
    const emitter = new Emitter(eventLog, values, run.id, prior, TOKEN_WRITES[run.request.durability ?? "async"]);
    this.#active = { run, stop, emitter };
    // A run that is stopped before its next step leaves the state of its last one.
    emitter.values = prior?.values;
    const timer = setTimeout(() => stop.abort("timeout" satisfies StopReason), timeLeft(env, run.outcome));
    const work = async () => {
      const thread = this.context.record as ThreadRecord;
      const store = this.context.memory();
      const spending = async () => readSpending(this.context, run, emitter);
      const execution = { env, thread, run, checkpoints, emitter, store, spending, signal: stop.signal };
      const { status, error, tracer } = refusal
        ? { status: "error" as const, error: this.#refused(refusal), tracer: undefined }
        : idle
          ? { ...showThread(thread, emitter, idle.error), tracer: undefined }
          : stopped
            ? { status: "interrupted" as const, error: undefined, tracer: createTracer(execution) }
            : await execute(execution);
      clearTimeout(timer);
      // Clients that receive the last text together with the end report the end before they show the text.
      if (emitter.deltas > 1 && !stop.signal.aborted) await eventLog.tokensTaken();
      const feedback = error || stop.signal.aborted ? undefined : await listRunFeedback(this.context, run, tracer);
      const reason = stop.signal.reason as StopReason | undefined;
      const aside = isAside(this.context, run);
      const waits = aside || reason === "interrupt" ? await hasNextStep(this.context) : emitter.interrupted;
      // A graph that was stopped between two steps waits there, as one that paused itself.
      if (!aside) emitter.interrupted ||= waits;
      const isCut = !aside && (reason === "interrupt" || reason === "timeout");
      const written = isCut ? await readWritten(this.context) : undefined;
      if (written) emitter.values = written;
      this.#end(run, emitter, status, { reason, error, tracer, feedback, written, waits });
    };
    ctx.waitUntil(work());
    if (run.request.task || run.outcome.answered) ctx.waitUntil(this.outbox.deliver());
    this.arm();
  }

  #refused(refusal: ResumeRefusal): RunError {
    return refusedError(refusal, describeAccepted(this.context, refusal.interrupt_ids));
  }

  /** Ends a run whose process stopped too often. */
  #giveUp(run: RunRecord, prior: PriorAttempt): void {
    const { env, eventLog, values } = this.context;
    const emitter = new Emitter(eventLog, values, run.id);
    emitter.values = prior.values;
    const tracer = createTracer({ env, run, thread: this.context.record as ThreadRecord });
    this.#end(run, emitter, "error", { error: diedError(run.outcome, prior), tracer });
  }

  #end(
    given: RunRecord,
    emitter: Emitter,
    status: RunStatus,
    { tracer, ...ending }: RunEnding & { tracer?: Tracer },
  ): void {
    const { reason, error } = ending;
    const { eventLog, tables, values, checkpoints } = this.context;
    const run = transition(given, status);
    const { outcome } = run;
    outcome.first_event ??= emitter.firstAt;
    const before = this.context.record as ThreadRecord;
    // The checkpoint of a migration has no questions. A run that failed or was stopped there leaves those of before.
    const keeps = reason === "rollback" || outcome.attempt === 0 || ((reason || error) && isMigrated(checkpoints));
    const questions = keeps ? before.interrupts : checkpoints.interrupts();
    const interrupts = interruptsAtEnd(emitter.interrupts, questions);
    Object.assign(outcome, { values: emitter.values, interrupts, error, stopped: reason });
    const prior = new Emitter(eventLog, values, run.id);
    const unused = unusedByRun(run, { questions, requested: emitter.requested, reason });
    emitEnd(prior, run, { interrupts: questions, requested: emitter.requested, ...ending });
    outcome.first_seq ??= outcome.last_seq;
    const others = this.open.filter((one) => one.id !== run.id);
    const { waits = emitter.interrupted } = ending;
    const left = isAside(this.context, run) ? undefined : emitter.values;
    const after = { open: others.length > 0, reason, questions, values: left, waits };
    const record = recordAfter(before, run, emitter.deltas, after);
    eventLog.due(() => {
      queueSideEffects(this.context, run, tracer);
      if (reason !== "rollback") tables.runs.end(run.id, run.status, JSON.stringify(outcome));
      this.context.writeRecord(record);
      undoResponses(this.context, run.id, unused);
      if (reason === "rollback") {
        tables.deleteRun(run.id);
        checkpoints.removeRun(run.id);
        return;
      }
      if (reason && outcome.answered) checkpoints.removeResumes(run.id);
    });
    eventLog.flush();
    this.#gate.leave(run.id);
    if (takesSlots(run)) this.context.ctx.waitUntil(this.outbox.free());
    if (this.#active?.run.id === run.id) this.#active = undefined;
    this.context.keepRecord(record);
    this.#open = others;
    this.#settling.add(run.id);
    this.context.ctx.waitUntil(this.#settle(run.id));
    this.next();
    this.arm();
  }

  /**
   * A client that sees the run's end also finds it in searches: the index is written before readers receive the end.
   */
  async #settle(runId: string): Promise<void> {
    try {
      await Promise.all([this.context.eventLog.settled(), this.context.project(this)]);
    } finally {
      // Also when this fails: clients must not wait for a run that has ended.
      this.#settling.delete(runId);
      for (const resolve of this.#waiters.get(runId) ?? []) resolve();
      this.#waiters.delete(runId);
      this.context.eventLog.notify();
    }
    await this.outbox.deliver();
    // Failed deliveries run again later. With none left, the watchdog's alarm is no longer needed.
    this.arm();
  }
}

// Deletes a run of a thread.

/** Stops the run if it is open, and deletes it once the outbox does not need it. False when there is none. */
export async function deleteRun(
  context: ThreadContext,
  runner: Runner,
  outbox: Outbox,
  runId: string,
): Promise<boolean> {
  if (!context.run(runId)) return false;
  if (runner.open.some((run) => run.id === runId)) {
    runner.stop(runId, "interrupt");
    await runner.ended(runId);
  }
  while (!outbox.isSealed(runId)) await outbox.seal(runId);
  await removeRun(context, runId, () => runner.busy);
  await context.project(runner);
  return true;
}

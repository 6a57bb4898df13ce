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
import { attemptsSpent, countAttempt, diedError, timeLeft } from "./attempts.ts";
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
  leavesState,
  refuseLateResponses,
  chooseWrite,
  newRun,
  repeatedRun,
  threadFor,
  withConfigOfRaiser,
  findRunToJoin,
} from "./insert.ts";
import { ownerReplaced, type Removal, type ThreadRecord, withOwner } from "../record.ts";
import type { RunRequest } from "../rpc.ts";
import { isMigrated } from "../state/migrate.ts";
import { hasNextStep, readWritten } from "../state/state.ts";
import { refusedError } from "../interrupts/resume.ts";
import { joinTask, queueTaskBegin } from "./tasks.ts";
import { carryOut, dueRemovals, forgetRun, withRemoval } from "./removal.ts";
import { acceptSent, readSent, type SentReaders } from "./sent.ts";

/** Milliseconds after which a removal that failed is tried again. */
const REMOVES_AGAIN_MS = 24 * 3_600_000;
/** Milliseconds after which the alarm looks for a removal that is being carried out. */
const UNDER_WAY_MS = 4_000;

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
  /** Until when removals that could not be carried out wait, milliseconds. */
  #removesFrom = 0;
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
    const known = repeatedRun(this.context, this.open, given);
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
    const isFree = !this.#active && this.#held === 0 && !this.busy && this.#removals().length === 0;
    const starts = isFree && isInFlight(created) && !request.flow && !request.sent?.body;
    const { eventLog, tables } = this.context;
    const run = eventLog.commit(() => {
      const made = starts ? this.#begin(created, record) : created;
      eventLog.due(() => {
        if (!this.context.record) this.context.writeRecord(record);
        const row = { run_id: made.id, created: made.created, status: made.status, request: text };
        const outcome = starts ? JSON.stringify(made.outcome) : null;
        tables.runs.insert({ ...row, fingerprint: request.fingerprint, outcome });
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
    if (strategy === "interrupt" || strategy === "rollback")
      this.stopEach(
        before.map(({ id }) => id),
        strategy,
      );
    if (request.flow || request.sent?.body || (!starts && this.context.record?.removals)) this.next();
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
    if (this.#active || this.#held > 0) return;
    if (this.#removals().length > 0) return this.context.ctx.waitUntil(this.remove());
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
    const done = this.#exclusive.then(() => readSent(this.context, this.readers, run));
    this.#exclusive = done;
    const read = await done;
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
    // A run that was stopped executes nothing more, so it ends as it was stopped.
    const { stopped } = waiting.outcome;
    if (prior && !stopped && attemptsSpent(this.context.env, waiting.outcome, prior))
      return this.#giveUp(waiting, prior);
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
    if (this.#removals().length > 0) this.context.ctx.waitUntil(this.remove());
    return this.#alone(work);
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    const release = this.hold();
    const done = this.#exclusive.then(work);
    this.#exclusive = done.catch(() => undefined);
    try {
      return await done;
    } finally {
      release();
    }
  }

  /** Keeps runs from beginning until the function that it gives is called. */
  hold(): () => void {
    this.#held += 1;
    return () => {
      this.#held -= 1;
      if (!this.context.gone) this.#continue();
    };
  }

  /** Whether runs are kept from beginning: the state is being changed. */
  get isHeld(): boolean {
    return this.#held > 0;
  }

  /** What deletions have left to remove and can be removed now. */
  #removals(): Removal[] {
    if (this.#active || !this.context.record?.removals || this.#removesFrom > Date.now()) return [];
    return dueRemovals(this.context, this.open);
  }

  /** When removals are to be carried out; undefined when there are none, or when they wait for runs. */
  get removesAt(): number | undefined {
    if (this.#active || !this.context.record?.removals) return undefined;
    // Those that are being carried out are due for the case that the process stops.
    const soon = Date.now() + (this.#held > 0 ? UNDER_WAY_MS : 0);
    return dueRemovals(this.context, this.open).length > 0 ? Math.max(this.#removesFrom, soon) : undefined;
  }

  /** Carries out the removals before another run begins. What fails is tried again later, or when the object has restarted. */
  async remove(): Promise<void> {
    await this.#alone(async () => {
      for (const removal of this.#removals()) {
        const isDone = await carryOut(this.context, removal).catch((error: unknown) => {
          logError(error, { thread: this.context.threadId, while: "removing what a deleted run has left" });
          return false;
        });
        if (!isDone) this.#removesFrom = Date.now() + REMOVES_AGAIN_MS;
      }
    });
  }

  /** Deletes a run that has ended. What others in flight need of it stays until they have ended. */
  async delete(run: RunRecord): Promise<void> {
    const { record, eventLog } = this.context;
    if (!record) return;
    const { first_seq: from, last_seq: to, replaced } = run.outcome;
    const { graph_id, assistant_id } = run.request;
    const during = this.#active && { during: true as const };
    const owes = withRemoval(record, {
      run_id: run.id,
      from,
      to,
      owner: { graph_id, assistant_id },
      replaced,
      ...during,
    });
    eventLog.flush();
    eventLog.due(() => {
      forgetRun(this.context, run);
      this.context.writeRecord(owes);
    });
    eventLog.flush();
    this.context.keepRecord(owes);
    this.#removesFrom = 0;
    if (this.#removals().length > 0) await this.remove();
    this.arm();
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
      // A run that is being stopped may still be rolled back.
      if (active.stop.signal.aborted && (reason !== "rollback" || active.run.outcome.stopped === reason)) return;
      this.#keepStop(active.run, reason);
      active.stop.abort(reason);
      return;
    }
    const run = this.open.find((one) => one.id === runId);
    if (run) this.#end(run, new Emitter(this.context.eventLog, this.context.values, run.id), "interrupted", { reason });
  }

  /** Stops these runs, the last one first: none of them begins because one before it has ended. */
  stopEach(ids: string[], reason: StopReason): void {
    for (const { id } of this.open.toReversed()) if (ids.includes(id)) this.stop(id, reason);
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
    const ids = this.open.map((run) => run.id);
    this.stopEach(ids, reason);
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
      const stopReason = () => run.outcome.stopped ?? (stop.signal.reason as StopReason | undefined);
      const reason = stopReason();
      const aside = isAside(this.context, run);
      const waits = aside || reason === "interrupt" ? await hasNextStep(this.context) : emitter.interrupted;
      // A graph that was stopped between two steps waits there, as one that paused itself.
      if (!aside) emitter.interrupted ||= waits;
      const isCut = !aside && (reason === "interrupt" || reason === "timeout" || (error && !refusal && !idle));
      const written = isCut ? await readWritten(this.context) : undefined;
      if (written) emitter.values = written;
      // It may have been rolled back in the meantime.
      this.#end(run, emitter, status, { reason: stopReason(), error, tracer, feedback, written, waits });
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
    // Parallel tasks may have asked before the process stopped.
    const waiting = this.context.checkpoints.interrupts();
    emitter.interrupts = Object.fromEntries(Object.entries(prior.interrupts).filter(([task]) => task in waiting));
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
    const said = eventLog.seq;
    const unused = unusedByRun(run, { questions, requested: emitter.requested, reason });
    emitEnd(prior, run, { interrupts: questions, requested: emitter.requested, ...ending });
    const from = outcome.first_seq;
    outcome.first_seq ??= outcome.last_seq;
    const others = this.open.filter((one) => one.id !== run.id);
    const { waits = emitter.interrupted } = ending;
    const left = leavesState(this.context, run) ? undefined : emitter.values;
    const after = recordAfter(before, run, emitter.deltas, {
      open: others.length > 0,
      reason,
      questions,
      values: left,
      waits,
    });
    // Its last events tell readers that it has ended.
    const erases = reason === "rollback" && from !== undefined;
    const record = erases ? withRemoval(after, { run_id: run.id, detached: true, from, to: said }) : after;
    eventLog.due(() => {
      queueSideEffects(this.context, run, tracer);
      if (reason !== "rollback") tables.runs.end(run.id, run.status, JSON.stringify(outcome));
      this.context.writeRecord(record);
      undoResponses(this.context, run.id, unused);
      if (reason === "rollback") {
        forgetRun(this.context, run);
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

/** The Durable Object of one thread: its runs, checkpoints and event log. One writer, by construction. */
import { findAcceptedResponse } from "../interrupts/responses.ts";
import { runOfInterrupt } from "../interrupts/resume.ts";
import type * as types from "../types.ts";
import {
  type InterruptLink,
  type AcceptedResponse,
  type ResponseByLink,
  type LinkRpc,
  type NewLink,
  type LinkState,
  type ResponseChannel,
  parseObjectName,
  threadNotFound,
} from "../types.ts";
import { refuseBroken, waitingThread } from "../state/migrate.ts";
import { EncryptedObject, type ThreadParts, isUnreadable, readThreadParts, removeUnreadable } from "./parts.ts";
import { runDeleted, threadDeleted, withLimitsNow } from "../runs/insert.ts";
import { findLinkState, requestToResume, listLinks, makeLink, ownLink, removeLink } from "../interrupts/links/links.ts";
import { NEWER_ALARM_MS } from "../../lib/object-tables.ts";
import { isKeyDestroyed } from "../../access/encryption/ring.ts";
import { containsJson } from "../../access/users/handlers.ts";
import { remoteProblem } from "../../lib/problem.ts";
import { armAlarm, onAlarm, restoreAlarm } from "./alarm.ts";
import type { Json } from "../../lib/json.ts";
import { copyInto, copyPage } from "../state/copy.ts";
import type { CopyCursor } from "../store/copy.ts";
import { asLine, type EventText, type Framing, restMark, type TailQuery } from "../log/events.ts";
import { lineStream, threadStub } from "../remote.ts";
import type { OnTask, Outbox } from "../runs/outbox.ts";
import type { ThreadContext } from "../context.ts";
import {
  keptUntil,
  newRecord,
  pendingInterrupts,
  toWireThread,
  readThreadSummary,
  startTtl,
  type ThreadRecord,
  UNREADABLE_SUMMARY,
} from "../record.ts";
import type * as rpc from "../rpc.ts";
import { deleteRun } from "../runs/removal.ts";
import type { Runner } from "../runs/runner.ts";
import type { SentReaders } from "../runs/sent.ts";
import { chooseOpen, listOpen, listRuns, readResult } from "../runs/lists.ts";
import { runStream, threadStream } from "../runs/stream.ts";
import { findOpening, type Opening, stateEvent } from "../runs/opening.ts";
import { toWireRun, type RunRecord } from "../run.ts";
import { keepLatestOnce } from "../state/prune.ts";
import { applyUpdates, findUpdate, streamHistory, readShownState } from "../state/state.ts";
import { Tables } from "../store/tables.ts";
import { storageFigures } from "../checkpoints/checkpoints.ts";
import { withinMetadata } from "../limits.ts";
import { isOfDeletedRun } from "../log/erase.ts";
import { tail, type TailSource } from "../log/tail.ts";
import { type Sleepers, isSleeper, sleepAfter } from "../log/sleepers.ts";
import { readTitle } from "../title.ts";
import { cancelTask, setHook, viewTask } from "../runs/tasks.ts";

/** Reads the thread's log from within its object. */
export type ReadLog = (query: TailQuery, framing: Framing) => ReadableStream<Uint8Array>;

/** The part of a protocol in a thread's object: its sockets, and streams in its own framing. */
export interface ThreadProtocol {
  accept(request: Request): Response;
  onMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void>;
  onClose(socket: WebSocket, code: number): Promise<void>;
  onError(socket: WebSocket): Promise<void>;
  /** The events that a filter of the protocol selects, after a sequence number or from an opening. */
  stream(filter: object, start: number | Opening, dialect: string, read: ReadLog): ReadableStream<Uint8Array>;
}

/** What a thread's object hands upward. A hibernating object needs it before its first message, so it is given at construction. */
export interface ThreadHooks {
  /** The call that a change of a task leads to. */
  onTask: OnTask;
  /** What protocols make of their clients' requests when a run begins. */
  readers: SentReaders;
  /** `read` gives the log to sockets of the object itself, `state` the thread's state as an event. */
  openProtocol(
    ctx: DurableObjectState,
    env: Env,
    thread: rpc.ThreadRpc & { opening(): Promise<Opening> },
    read: ReadLog,
    state: (at: number) => EventText | undefined,
  ): ThreadProtocol;
}

/** Characters of the longest state in the answer to a copy: an RPC message holds at most 32 MiB. */
const LONG_STATE = 8_000_000;

export class ThreadObject extends EncryptedObject implements rpc.ThreadRpc, LinkRpc {
  /** The error that every call answers when the thread cannot be read. */
  #parts: ThreadParts | Error = new Error("The object has not begun.");
  #copying: Promise<void> | undefined;
  #seeding: Promise<void> | undefined;
  private readonly protocol: ThreadProtocol;

  constructor(
    ctx: DurableObjectState,
    env: Env,
    private readonly hooks: ThreadHooks,
  ) {
    super(ctx, env, parseObjectName(ctx.id).workspaceId);
    this.begin(new Tables(ctx.storage).heldTexts(), () => this.#start());
    const read: ReadLog = (query, framing) => this.#read(query, framing, true);
    this.protocol = hooks.openProtocol(ctx, env, this, read, (at) => stateEvent(this.#context, at));
  }

  #start(before?: Outbox): void {
    const { ctx, ring } = this;
    const { onTask, readers } = this.hooks;
    this.#parts = readThreadParts(ctx, this.env, { ring, onTask, readers, before });
    if (before || this.#parts instanceof Error) return;
    // A run that was open at a crash resumes immediately, not only when the alarm fires.
    if (this.#runner.open.length > 0) ctx.waitUntil(Promise.resolve().then(() => this.#runner.next()));
    // A deleted thread may have left effects that are still to be carried out.
    if (!this.#context.record) armAlarm(this.#context, this.#runner);
    else this.onFirstCall = () => ctx.waitUntil(restoreAlarm(this.#context, this.#runner));
  }

  protected rekey(lost: boolean): void {
    if (this.#parts instanceof Error) return this.#start();
    this.#context.tables.vault.ring = this.ring;
    if (!lost) return;
    // A run in flight has the texts in its memory.
    if (this.#runner.open.length > 0) this.ctx.abort("A key of the workspace is destroyed.");
    else this.#rebuild();
  }

  override async fetch(request: Request): Promise<Response> {
    await this.unlock();
    const after = sleepAfter(request.url);
    return after === undefined ? this.protocol.accept(request) : this.#sleepers.accept(after);
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    await this.unlock();
    if (!isSleeper(this.ctx, socket)) await this.protocol.onMessage(socket, message);
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    if (isSleeper(this.ctx, socket)) this.#sleepers.onClose(socket);
    else await this.protocol.onClose(socket, code);
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    if (isSleeper(this.ctx, socket)) this.#sleepers.onClose(socket);
    else await this.protocol.onError(socket);
  }

  override async alarm(): Promise<void> {
    // An alarm that throws is dropped after six times.
    const isUnlocked = await this.unlocked();
    if (isUnlocked && isUnreadable(this.#parts)) return;
    if (!isUnlocked || this.#parts instanceof Error) return this.ctx.storage.setAlarm(Date.now() + NEWER_ALARM_MS);
    await onAlarm(this.#context, this.#runner, this.#outbox, (isDue) => this.#forget({ isDue }));
  }

  async create(request: rpc.CreateThread): Promise<types.Thread> {
    const { request_id: id } = request;
    // A call that is repeated after a lost connection waits for the first call.
    await this.#seeding?.catch(() => undefined);
    const isOwn = id !== undefined && this.#context.record?.made_by?.id === id;
    if (id !== undefined && !isOwn && (await this.#context.isDeleted(id))) throw threadDeleted();
    const { made_by, temporary } = this.#context.record ?? {};
    // The process stopped before the first states were made.
    if (isOwn && made_by?.seeds) await this.#forget({ leavesIds: false });
    if (this.#context.record && ((request.ifExists === "raise" && !isOwn) || temporary))
      throw remoteProblem(409, "A thread with this id exists.");
    if (!this.#context.record) await this.#make(request);
    await this.#context.project(this.#runner);
    return this.#shown(this.#existing());
  }

  async #make({ metadata, ttl, supersteps, request_id: id }: rpc.CreateThread): Promise<void> {
    const context = this.#context;
    const record = newRecord(context.workspaceId, context.threadId, withinMetadata(metadata));
    const made_by = id === undefined ? undefined : { id, ...(supersteps && { seeds: true as const }) };
    context.saveRecord({ ...record, ttl: startTtl(ttl) ?? record.ttl, ...(made_by && { made_by }) });
    armAlarm(context, this.#runner);
    if (!supersteps) return;
    this.#seeding = this.#seed(supersteps);
    await this.#seeding;
    if (made_by && context.record) context.saveRecord({ ...context.record, made_by: { id: made_by.id } });
  }

  async get(mostValues?: number): Promise<types.Thread | undefined> {
    const { record } = this.#context;
    return record && !record.temporary?.until ? this.#shown(record, mostValues) : undefined;
  }

  async summary(): Promise<types.ThreadSummary | undefined> {
    if (isKeyDestroyed(this.#parts)) return UNREADABLE_SUMMARY;
    const assistantOf = (id: string) => runOfInterrupt(this.#context, id)?.request.assistant_id;
    return readThreadSummary(this.#context.record, this.#runner.busy, assistantOf);
  }

  async title(): Promise<string | undefined> {
    return isKeyDestroyed(this.#parts) ? undefined : readTitle(this.#context, this.#runner.open[0]?.request.input);
  }

  async patch({ metadata, ttl }: rpc.ThreadPatch): Promise<types.Thread> {
    const record = this.#changeable();
    const merged = withinMetadata({ ...record.metadata, ...metadata });
    this.#context.saveRecord({ ...record, metadata: merged, updated: Date.now(), ttl: startTtl(ttl) ?? record.ttl });
    armAlarm(this.#context, this.#runner);
    await this.#context.project(this.#runner);
    armAlarm(this.#context, this.#runner);
    return this.#shown(this.#existing());
  }

  async remove(only?: Json): Promise<boolean | "kept"> {
    if (isKeyDestroyed(this.#parts)) return this.removeIdle();
    const { context, runner } = this.#opened();
    const isMeant = () => !only || containsJson(context.record?.metadata ?? {}, only);
    if (!context.record) return false;
    // No run begins meanwhile. Others may be requested, or another request may delete the thread.
    const release = runner.hold();
    try {
      do {
        if (!isMeant()) return "kept";
        await runner.stopAll("interrupt");
      } while (!context.gone && !(await this.#forget({ isDue: isMeant })));
    } finally {
      release();
    }
    return true;
  }

  async removeIdle(): Promise<boolean> {
    if (isKeyDestroyed(this.#parts)) return removeUnreadable(this.ctx, this.env).finally(() => this.#start());
    const { context, runner } = this.#opened();
    const { record } = context;
    if (!record) return true;
    if (runner.open.length > 0 || pendingInterrupts(record).length === 0)
      return this.#forget({ isDue: () => !runner.isHeld });
    if (!record.kept) context.saveRecord({ ...record, kept: { until: keptUntil(true) } });
    armAlarm(context, runner);
    return true;
  }

  async copyFrom(threadId: string, metadata?: Json): Promise<types.Thread> {
    if (!this.#context.record && (await this.#context.isDeleted(this.#context.threadId))) throw threadDeleted();
    // A call that is repeated after a lost connection waits for the first call.
    if (!this.#context.record) await (this.#copying ??= this.#copy(threadId, metadata));
    return this.#shown(this.#existing(), LONG_STATE);
  }

  async copyPage(from?: CopyCursor): Promise<rpc.CopyPage> {
    return copyPage(this.#context, from);
  }

  async keepLatest(): Promise<boolean> {
    return keepLatestOnce(this.#context, this.#runner);
  }

  async storage(): Promise<types.StorageFigures | undefined> {
    return this.#context.record && storageFigures(this.#context.checkpoints, this.#context.tables);
  }

  async startRun(request: rpc.RunRequest): Promise<types.Run> {
    return (await this.launch(request)).run;
  }

  async launch(request: rpc.RunRequest): Promise<{ run: types.Run; seq: number }> {
    const fresh = this.#context.record === undefined;
    await this.#admit(request);
    const run = this.#runner.create(request);
    // A thread that this run has made is found by searches once its caller has the answer.
    if (fresh) void this.#context.project(this.#runner);
    const seq = run.outcome.first_seq ?? this.#context.eventLog.seq;
    const answer = { run: toWireRun(run, this.#context), seq };
    await this.#context.projected();
    return answer;
  }

  async startAndFollow(request: rpc.RunRequest, query: Omit<TailQuery, "after" | "runId">) {
    await this.#admit(request);
    const run = this.#runner.create(request, true);
    const after = (run.outcome.first_seq ?? this.#context.eventLog.seq + 1) - 1;
    return this.#read({ ...query, after, runId: run.id });
  }

  async startAndStream(request: rpc.RunRequest, options: rpc.RunStream) {
    await this.#admit(request);
    return this.#openStream(this.#runner.create(request, true), options);
  }

  async streamRun(runId: string, options: rpc.RunStream): Promise<ReadableStream<Uint8Array>> {
    return this.#openStream(this.#context.existingRun(runId), options);
  }

  async streamThread(modes: string[], after = this.#context.eventLog.visible): Promise<ReadableStream<Uint8Array>> {
    const { query, framing } = threadStream(this.#context.tables, (runId) => this.#context.run(runId), modes, after);
    return this.#read(query, framing);
  }

  async getRun(runId: string): Promise<types.Run | undefined> {
    const run = this.#context.run(runId);
    return run && (await this.#runner.placed([toWireRun(run, this.#context)]))[0];
  }

  async listRuns(query: rpc.RunsQuery): Promise<types.Run[]> {
    this.#existing();
    return this.#runner.placed(listRuns(this.#context, query));
  }

  async openRuns(most: number): Promise<types.OpenRun[]> {
    if (isUnreadable(this.#parts)) return [];
    this.#existing();
    return this.#runner.placed(listOpen(this.#context, this.#runner.open, most));
  }

  async cancel(runId: string, action: types.CancelAction, wait: boolean): Promise<types.RunStatus | undefined> {
    const id = this.#idOf(runId);
    const ended = this.#runner.cancel(id, action);
    if (wait) await this.#runner.ended(id);
    return ended;
  }

  async cancelMany(which: rpc.OpenRuns, action: types.CancelAction): Promise<number> {
    if (isUnreadable(this.#parts)) return 0;
    const runIds = which.runIds?.map((id) => this.#idOf(id));
    const chosen = chooseOpen(this.#runner.open, { ...which, runIds });
    this.#runner.stopEach(
      chosen.map(({ id }) => id),
      action,
    );
    return chosen.length;
  }

  async deleteRun(runId: string): Promise<boolean> {
    return deleteRun(this.#context, this.#runner, this.#outbox, this.#idOf(runId));
  }

  async join(given: string): Promise<ReadableStream<Uint8Array>> {
    const { id: runId } = this.#context.existingRun(given);
    if (this.#runner.resting && !this.#runner.settled(runId))
      return new Blob([restMark(this.#context.eventLog.visible)]).stream();
    await this.#runner.ended(runId);
    return new Blob([readResult(this.#context, this.#context.run(runId)?.outcome)]).stream();
  }

  async grant(runId: string, created: number, stopped: boolean): Promise<boolean> {
    return !isUnreadable(this.#parts) && this.#runner.grant(runId, created, stopped);
  }

  async task(taskId: string): Promise<types.TaskView | undefined> {
    return viewTask(this.#context, taskId);
  }

  async setHook(taskId: string, id: string, hook: Json | undefined, most: number): Promise<void> {
    setHook(this.#context, taskId, id, hook, most);
    armAlarm(this.#context, this.#runner);
    this.ctx.waitUntil(this.#outbox.deliver());
  }

  async cancelTask(taskId: string): Promise<void> {
    await cancelTask(this.#context, this.#runner, taskId);
    armAlarm(this.#context, this.#runner);
    this.ctx.waitUntil(this.#outbox.deliver());
  }

  async follow(query: TailQuery): Promise<ReadableStream<Uint8Array>> {
    const { runId } = query;
    return this.#read(runId === undefined ? query : { ...query, runId: this.#context.existingRun(runId).id });
  }

  async streamEvents(filter: object, after: number | undefined, dialect: string): Promise<ReadableStream<Uint8Array>> {
    return this.protocol.stream(filter, after ?? findOpening(this.#context), dialect, (query, framing) =>
      this.#read(query, framing),
    );
  }

  async opening(): Promise<Opening> {
    return findOpening(this.#context);
  }

  async lastSeq(runId?: string): Promise<number> {
    return runId === undefined ? this.#context.eventLog.visible : (this.#context.run(runId)?.outcome.last_seq ?? 0);
  }

  async hasEvent(seq: number): Promise<boolean> {
    return this.#context.eventLog.has(seq);
  }

  async firstSeq(runId: string): Promise<number | undefined> {
    const run = this.#context.run(runId);
    return run && (run.outcome.first_seq ?? this.#context.eventLog.visible + 1);
  }

  async waitingThread(): Promise<types.WaitingThread | undefined> {
    return waitingThread(this.#context);
  }

  async state(query: rpc.StateQuery): Promise<types.ThreadState | undefined> {
    return this.#context.record && readShownState(this.#context, this.#runner.busy, query);
  }

  async history(query: rpc.HistoryQuery): Promise<ReadableStream<Uint8Array>> {
    this.#existing();
    return lineStream(await streamHistory(this.#context, query));
  }

  async updateState(
    { update_id, ...update }: rpc.StateChange,
    checkpoint?: types.CheckpointAddress,
    graphId?: string,
  ): Promise<{ checkpoint: Json }> {
    if (update_id !== undefined && (await this.#context.isDeleted(update_id))) throw threadDeleted();
    this.#changeable();
    const find = () => findUpdate(this.#context, update_id);
    const write = () => applyUpdates(this.#context, [{ updates: [update] }], checkpoint, { graphId, update_id });
    // An earlier attempt may be at work.
    const written = find() ?? (await this.#runner.exclusively(async () => find() ?? write()));
    await this.#context.project(this.#runner);
    return written;
  }

  async makeLink(link: NewLink): Promise<InterruptLink> {
    const { context, runner } = this.#opened();
    return makeLink(context, runner.open, link);
  }

  async ownLink(interruptId: string, via: ResponseChannel): Promise<InterruptLink | undefined> {
    const { context, runner } = this.#opened();
    return ownLink(context, runner.open, interruptId, via);
  }

  async listLinks(interruptId: string): Promise<LinkState[]> {
    const { context, runner } = this.#opened();
    return listLinks(context, runner.open, interruptId);
  }

  async removeLink(interruptId: string, linkId: string): Promise<boolean> {
    return removeLink(this.#opened().context, interruptId, linkId);
  }

  async linkState(linkId: string): Promise<LinkState | undefined> {
    const { context, runner } = this.#opened();
    return findLinkState(context, runner.open, linkId);
  }

  async respondByLink(
    linkId: string,
    given: ResponseByLink,
  ): Promise<LinkState | { state: "accepted"; run_id: string } | undefined> {
    const { context, runner } = this.#opened();
    const accepted = { state: "accepted" as const, run_id: given.run_id };
    if (context.run(given.run_id)) return accepted;
    const link = findLinkState(context, runner.open, linkId)?.link;
    const { run_id, answer, actor } = given;
    const resume = link && { [link.interrupt_id]: answer ?? null };
    const asked = resume && requestToResume(context, { run_id, resume, actor });
    const request = asked && (await withLimitsNow(context, asked));
    if (request) await refuseBroken(context, runner, request);
    // From here on nothing waits, so that no other answer comes in between.
    const standing = findLinkState(context, runner.open, linkId);
    if (standing?.state !== "waits") return standing;
    if (!request) return { state: "gone", link: standing.link };
    runner.create(request);
    await context.projected();
    return accepted;
  }

  async acceptedResponses(interruptIds: string[]): Promise<Record<string, AcceptedResponse>> {
    const { context } = this.#opened();
    const found = interruptIds.map((id) => [id, findAcceptedResponse(context, id)] as const);
    return Object.fromEntries(found.flatMap(([id, first]) => (first ? [[id, first] as const] : [])));
  }

  /** Of the tests and benches: rows written since this object woke, and who reads. */
  async figures(): Promise<{ rowsWritten: number } & ReturnType<Sleepers["figures"]>> {
    return { rowsWritten: this.#context.tables.rowsWritten, ...this.#sleepers.figures() };
  }

  /** The run's own id: a request that has joined it has another one. */
  #idOf(runId: string): string {
    return this.#context.run(runId)?.id ?? runId;
  }

  /** The log's events as bytes in a framing: replayed, then live. `inside`: the reader is in this object. */
  #read(query: TailQuery, framing: Framing = asLine, inside = false): ReadableStream<Uint8Array> {
    const { context, runner } = this.#opened();
    const { tables, eventLog, values } = context;
    const about = { settled: (id: string) => runner.settled(id), resting: () => runner.resting };
    const isOfDeleted: TailSource["isOfDeletedRun"] = (event) => isOfDeletedRun(context.record?.removals, event);
    return tail({ tables, eventLog, values, isOfDeletedRun: isOfDeleted, ...about }, query, framing, inside);
  }

  /** Readers that wait while no run is in progress. */
  get #sleepers(): Sleepers {
    return this.#opened().sleepers;
  }

  #openStream(run: RunRecord, options: rpc.RunStream): ReadableStream<Uint8Array> {
    const { tables, eventLog } = this.#context;
    // What this call has appended is not visible yet.
    const { query, framing } = runStream(tables, run, eventLog.seq, options);
    return this.#read(query, framing);
  }

  /** Throws when the run cannot continue in the deployed graph, or was deleted with an earlier thread of this id. */
  async #admit(request: rpc.RunRequest): Promise<void> {
    await refuseBroken(this.#context, this.#runner, request);
    const { context } = this.#opened();
    if (!context.run(request.run_id) && (await context.isDeleted(request.run_id))) throw runDeleted();
  }

  /** A thread whose first states cannot be made is not made. */
  async #seed(supersteps: NonNullable<rpc.CreateThread["supersteps"]>): Promise<void> {
    try {
      await this.#runner.exclusively(() => applyUpdates(this.#context, supersteps, undefined));
    } catch (error) {
      await this.#forget({ leavesIds: false });
      throw error;
    }
  }

  async #copy(threadId: string, metadata?: Json): Promise<void> {
    try {
      await copyInto(this.#context, threadStub(this.env, this.#context.workspaceId, threadId), metadata);
    } finally {
      this.#copying = undefined;
      this.#rebuild();
    }
    armAlarm(this.#context, this.#runner);
    await this.#context.project(this.#runner);
  }

  /**
   * Deletes the thread, once the outbox does not need it. False when a run is open or `isDue` no longer holds. `leavesIds`: what it
   * has made is not made again by repeated requests. No
   * other work runs between the deletion and a new thread with the same id, because it would write into both.
   */
  async #forget({
    isDue = () => true,
    leavesIds = true,
  }: { isDue?: () => boolean; leavesIds?: boolean } = {}): Promise<boolean> {
    const { context, outbox, runner } = this.#opened();
    if (leavesIds && runner.open.length === 0 && isDue()) await context.keepIds();
    while (runner.open.length === 0 && !outbox.isSealed()) await outbox.seal();
    if (context.gone) return true;
    if (runner.open.length > 0 || !isDue()) return false;
    context.destroy();
    this.#rebuild();
    armAlarm(this.#context, this.#runner);
    await context.unlist();
    // A thread with the same id may have been created in the meantime.
    if (this.#context.record) await this.#context.project(this.#runner);
    return true;
  }

  /** Reads all state again, because the state in memory is no longer valid. */
  #rebuild(): void {
    const { context, outbox } = this.#opened();
    context.close();
    this.#start(outbox);
  }

  #opened(): ThreadParts {
    if (this.#parts instanceof Error) throw this.#parts;
    return this.#parts;
  }

  get #context(): ThreadContext {
    return this.#opened().context;
  }

  get #outbox(): Outbox {
    return this.#opened().outbox;
  }

  get #runner(): Runner {
    return this.#opened().runner;
  }

  #existing(): ThreadRecord {
    if (!this.#context.record) throw threadNotFound(this.#context.threadId);
    return this.#context.record;
  }

  /** The record of a thread that may be changed. 404 for that of a stateless run: it is deleted soon after the run. */
  #changeable(): ThreadRecord {
    const record = this.#existing();
    if (record.temporary) throw threadNotFound(this.#context.threadId);
    return record;
  }

  /** The thread as answers have it, with `values` null when they have more than `mostValues` characters of JSON. */
  #shown(record: ThreadRecord, mostValues = Infinity): types.Thread {
    return toWireThread(record, this.#runner.busy, this.#context.values, mostValues);
  }
}

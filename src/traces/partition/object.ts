/** The TracePartition Durable Object: the runs of one project that started on one UTC day, or those of a shard of them. */
import { remoteProblem } from "../../lib/problem.ts";
import type { RunWrite, PartitionIdentity, QueriedRun, StoredFeedback } from "../types.ts";
import {
  hasBlobs,
  UPLOAD_MS,
  dueBlobs,
  BlobDeletion,
  isDoomed,
  noteDeletedBlobs,
  nextDue,
  DELETED_AT_ONCE,
  deleteTraces,
  noteDeleted,
  selectDeleted,
  tracesAfter,
  tracesBegunHere,
  tracesOfThreads,
  keepWrites,
} from "./write/delete.ts";
import {
  writeMeta,
  earlyFeedback,
  findHeldIds,
  writesOfHeldRuns,
  shardsNeeded,
  identify,
  readMeta,
  writeTier,
} from "./store/meta.ts";
import { database } from "../../db/client.ts";
import { deleteFeedbackLocationsById } from "../review/feedback/store.ts";
import { blobPrefix } from "../stub.ts";
import {
  forgetUnlisted,
  unlistedFeedback,
  deleteFeedback,
  getFeedback,
  handOver,
  isOfDeleted,
  putFeedback,
  takeFeedback,
} from "./feedback.ts";
import { DurableObject } from "cloudflare:workers";
import type { TraceTier } from "../projects/table.ts";
import { NEWER_ALARM_MS, newerFormat, ObjectTables } from "../../lib/object-tables.ts";
import { dispatchRpc, type RpcTarget } from "../../lib/rpc.ts";
import { logError } from "../../lib/log.ts";
import { isDayOver, nextClose, closeSome } from "./write/close.ts";
import { crossingTraces, tracesPassing } from "./read/selection.ts";
import { Gather, applyWrites, groupWrites } from "./write/write.ts";
import {
  dropExpired,
  readKeptUntil,
  loadKept,
  keepTraces,
  findKept,
  announce,
  currentExpiry,
  deleteLinks,
  deleteOutside,
  LEAST_WAIT_MS,
  nextAttempt,
  readRetention,
  register,
  REGISTER_DELAY_MS,
} from "./retention.ts";
import { countChanged, readPage } from "./read/page.ts";
import { rankInPartition } from "./read/rank.ts";
import { listIds, queryRuns, storedIds, storedTraces, traceTree } from "./read/read.ts";
import { listForRule, settleForRule, takeForRule } from "./rules.ts";
import { noRunTimes, runTimes } from "./stats/durations.ts";
import { NO_SERIES, partitionSeries } from "./stats/series.ts";
import { readChildren, NO_STATS, partitionStats, NO_THREAD_STATS, threadStats, listThreads } from "./stats/stats.ts";
import { PARTITION_SCHEMA } from "./store/tables.ts";
import type { ChangedRequest, PageRequest, RunPage } from "../columns.ts";
import type {
  RankRequest,
  RuleRunsRequest,
  RuleOutcome,
  TakeRequest,
  QueryRequest,
  RunSelection,
  SeriesRequest,
  TracePartitionRpc,
  Upserted,
  Upserting,
} from "../rpc.ts";
import { priceTable } from "../../limits/prices/prices.ts";
import { isClosed } from "../locate.ts";
import { dayBounds } from "../time.ts";

// The end of a partition. Writes that come while it is destroyed are refused: they would be acknowledged and then deleted.

export class PartitionDestruction {
  /** Set until it is over. */
  #running: Promise<void> | undefined;
  /** When this instance ended last, milliseconds. */
  #last: { at: number } | undefined;

  /** `isMarked`: it began before a restart or a failure, and its objects in R2 may be gone in part. */
  constructor(private isMarked = false) {}

  get isOn(): boolean {
    return this.isMarked || this.#running !== undefined;
  }

  /** Notes durably that it has begun, so that a failure or a restart does not let writes in. */
  mark(sql: SqlStorage): void {
    writeMeta(sql, "ending", true);
    this.isMarked = true;
  }

  /** Destroys the partition by `destroy`, once at a time. */
  async run(destroy: () => Promise<void>): Promise<void> {
    this.#running ??= destroy()
      .then(() => {
        this.isMarked = false;
        this.#last = { at: Date.now() };
      })
      .finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** @throws 503 */
  refuse(): void {
    if (this.isOn) throw destructionProblem();
  }

  /** Prepares a write. @throws 503 when the partition is destroyed at the same time */
  async refuseAround<T>(prepare: () => Promise<T>): Promise<T> {
    this.refuse();
    const last = this.#last;
    const prepared = await prepare();
    if (this.isOn || this.#last !== last) throw destructionProblem();
    return prepared;
  }

  /** Ingest stores objects in R2 before the writes that refer to them. @throws 503 when they were deleted in between */
  async refuseLost(bucket: R2Bucket, prefix: string, writes: RunWrite[]): Promise<void> {
    if (this.#last === undefined || Date.now() > this.#last.at + UPLOAD_MS) return;
    if (!(await hasBlobs(bucket, prefix, writes))) throw destructionProblem();
  }
}

const destructionProblem = () =>
  remoteProblem(503, "The traces of this day are being deleted. Send the request again.");

// What deletions leave outside of a partition: objects in R2, and the places of feedback in D1. Both are recorded in the transaction
// of the deletion, so none is missed. The alarm deletes what a failed request leaves.

/** `known` reads or writes the partition, and gives undefined when it was destroyed. */
export async function deleteRemains(
  env: Env,
  sql: SqlStorage,
  known: <T>(read: (identity: PartitionIdentity) => T) => T | undefined,
  objects: BlobDeletion,
): Promise<void> {
  for (;;) {
    const places = known(({ workspaceId }) => ({ workspaceId, ids: unlistedFeedback(sql) }));
    if (!places || places.ids.length === 0) break;
    await deleteFeedbackLocationsById(database(env.DB), places.workspaceId, places.ids);
    known(() => forgetUnlisted(sql, places.ids));
  }
  for (;;) {
    const isWritten = (key: string) => objects.isWritten(key);
    const prefix = known((identity) => blobPrefix(identity.workspaceId, identity));
    const keys = prefix === undefined ? [] : (known(() => dueBlobs(sql, prefix, isWritten)) ?? []);
    if (prefix === undefined || keys.length === 0) return;
    await objects.delete(env.BLOBS, keys);
    known(() => noteDeletedBlobs(sql, prefix, keys));
  }
}

/**
 * A shard of one project's day. Its name holds workspace, project, day and shard; the identity is sent with every
 * write.
 */
export class TracePartition extends DurableObject<Env> implements TracePartitionRpc, RpcTarget {
  private readonly tables: ObjectTables;
  private alarmIsSet = false;
  /** How many shards the day has, as far as this one knows. */
  private shards = 1;
  /** Traces that were deleted before the first commit, which stores them. */
  private deletedBefore: string[] = [];
  private ending = new PartitionDestruction();
  /** From the last write. Only a project's tier ever changes. */
  private identity: PartitionIdentity | undefined;
  private readonly objects = new BlobDeletion();
  private readonly gather = new Gather((writes) => this.apply(writes));

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.tables = new ObjectTables(ctx.storage, PARTITION_SCHEMA);
    if (this.tables.isNewer || !this.held) return;
    this.shards = readMeta(this.sql, "shards") ?? 1;
    this.ending = new PartitionDestruction(readMeta(this.sql, "ending"));
  }

  async dispatch(method: string, args: unknown[]): Promise<unknown> {
    return dispatchRpc(this, method, args);
  }

  async upsert(identity: PartitionIdentity, writes: RunWrite[], how: Upserting = {}): Promise<Upserted> {
    const { batched = false, shards = 1 } = how;
    this.identity = identity;
    await this.ending.refuseLost(this.env.BLOBS, blobPrefix(identity.workspaceId, identity), writes);
    await this.begin(identity);
    this.learn(identity, shards);
    let mine: RunWrite[] = [];
    const isWritten = await this.objects.around(this.env.BLOBS, blobPrefix(identity.workspaceId, identity), writes, {
      isDoomed: (keys) => this.held && isDoomed(this.sql, keys),
      write: async () => {
        mine = this.pickOwn(identity, writes);
        if (batched) await this.gather.add(mine);
        else this.apply(mine);
      },
    });
    if (!isWritten) throw destructionProblem();
    this.learn(identity, shardsNeeded(this.env, { ...identity, shards: this.shards, bytes: this.sql.databaseSize }));
    await this.scheduleRegistration();
    const kept = new Set(mine);
    return { shards: this.shards, left: writes.filter((write) => !kept.has(write)).map(({ id }) => id) };
  }

  async holds(identity: PartitionIdentity, shards: number, ids: string[], traces: string[]): Promise<string[]> {
    this.identity = identity;
    await this.begin(identity);
    this.gather.flush();
    this.learn(identity, shards);
    await this.scheduleRegistration();
    return [...findHeldIds(this.sql, ids, traces), ...earlyFeedback(this.sql, ids)];
  }

  async lookUp(ids: string[]): Promise<Record<"held" | "traces" | "deleted", string[]>> {
    const look = () => ({
      held: storedIds(this.sql, ids),
      traces: storedTraces(this.sql, ids),
      deleted: [...selectDeleted(this.sql, ids)],
    });
    return this.known(look) ?? { held: [], traces: [], deleted: [] };
  }

  async listIds(after: number, limit: number): Promise<{ ids: string[]; next: number | null }> {
    return this.known(() => listIds(this.sql, after, limit)) ?? { ids: [], next: null };
  }

  async readPage(request: PageRequest): Promise<RunPage | undefined> {
    return this.known((identity) => readPage(this.sql, identity, request));
  }

  async query(request: QueryRequest): Promise<{ runs: QueriedRun[]; done: boolean }> {
    return this.known((identity) => queryRuns(this.sql, identity, request)) ?? { runs: [], done: true };
  }

  async rank(request: RunSelection & RankRequest) {
    return this.known((identity) => rankInPartition(this.sql, identity, request)) ?? [];
  }

  async tree(traceId: string, limit: number) {
    return this.known((identity) => traceTree(this.sql, identity, traceId, limit)) ?? [];
  }

  async crossing(): Promise<string[]> {
    return this.known(() => crossingTraces(this.sql)) ?? [];
  }

  async tracesPassing(traces: string[], test: { filter: string; root: boolean }): Promise<string[]> {
    return this.known((identity) => tracesPassing(this.sql, identity, traces, test)) ?? [];
  }

  async countChanged(request: ChangedRequest): Promise<number> {
    return this.known((identity) => countChanged(this.sql, identity, request)) ?? 0;
  }

  async stats(selection: RunSelection) {
    return this.known((identity) => partitionStats(this.sql, identity, selection)) ?? NO_STATS;
  }

  async series(selection: RunSelection, request: SeriesRequest) {
    return this.known((identity) => partitionSeries(this.sql, identity, selection, request)) ?? NO_SERIES;
  }

  async threads(selection: RunSelection) {
    return this.known((identity) => listThreads(this.sql, identity, selection)) ?? [];
  }

  async threadStats(selection: RunSelection) {
    return this.known((identity) => threadStats(this.sql, identity, selection)) ?? NO_THREAD_STATS;
  }

  async runTimes() {
    return this.known(() => this.ctx.storage.transactionSync(() => runTimes(this.sql))) ?? noRunTimes();
  }

  async takeForRule(request: TakeRequest) {
    return this.known((identity) => this.ctx.storage.transactionSync(() => takeForRule(this.sql, identity, request)));
  }

  async listForRule(request: RuleRunsRequest) {
    return this.known(() => listForRule(this.sql, request)) ?? [];
  }

  async settleForRule(rule: string, settled: RuleOutcome[]) {
    return this.known(() => this.ctx.storage.transactionSync(() => settleForRule(this.sql, rule, settled)));
  }

  async children(id: string): Promise<{ direct: string[]; all: string[] }> {
    return this.known(() => readChildren(this.sql, id)) ?? { direct: [], all: [] };
  }

  async putFeedback(identity: PartitionIdentity, feedback: StoredFeedback, asRead?: string) {
    await this.begin(identity);
    const stored = this.commit(identity, () => {
      if (isOfDeleted(this.sql, feedback)) throw remoteProblem(404, "Run not found: its trace was deleted.");
      return putFeedback(this.sql, feedback, asRead);
    });
    await this.scheduleRegistration();
    return stored;
  }

  async takeFeedback(identity: PartitionIdentity, feedback: StoredFeedback): Promise<boolean> {
    await this.begin(identity);
    const isTaken = this.commit(identity, () => takeFeedback(this.sql, feedback));
    await this.scheduleRegistration();
    return isTaken;
  }

  async handOver({ id, modified_at }: StoredFeedback): Promise<void> {
    this.known(() => this.ctx.storage.transactionSync(() => handOver(this.sql, id, modified_at)));
  }

  async getFeedback(ids: string[]): Promise<StoredFeedback[]> {
    return this.known(() => getFeedback(this.sql, ids)) ?? [];
  }

  async deleteFeedback(id: string): Promise<boolean> {
    const gone = this.known(() => this.ctx.storage.transactionSync(() => deleteFeedback(this.sql, id))) ?? false;
    await this.scheduleRegistration();
    await deleteRemains(this.env, this.sql, (read) => this.known(read), this.objects);
    return gone;
  }

  async tracesOf(threadIds: string[]): Promise<string[]> {
    return this.known(() => tracesOfThreads(this.sql, threadIds)) ?? [];
  }

  async traceIds(after: number) {
    return this.known(() => tracesAfter(this.sql, after)) ?? { traces: [] };
  }

  async keepTraces(traceIds: string[]): Promise<void> {
    this.ending.refuse();
    this.known(() => this.ctx.storage.transactionSync(() => keepTraces(this.sql, traceIds)));
  }

  async keptAmong(traceIds: string[]): Promise<string[]> {
    return this.known(() => findKept(this.sql, traceIds)) ?? [];
  }

  async deleteTraces(traceIds: string[]): Promise<number> {
    // A first write that waits for D1 may have read the deletions before this one was noted.
    if (!this.held) this.deletedBefore = this.deletedBefore.concat(traceIds);
    let runs = 0;
    for (let gone = DELETED_AT_ONCE; gone === DELETED_AT_ONCE; runs += gone) {
      const identity = this.known((known) => known);
      if (!identity) return runs;
      const prefix = blobPrefix(identity.workspaceId, identity);
      gone = this.ctx.storage.transactionSync(() => deleteTraces(this.sql, prefix, traceIds));
      // The alarm ends what fails after this.
      await this.scheduleRegistration();
      await this.ctx.storage.sync();
    }
    await deleteRemains(this.env, this.sql, (read) => this.known(read), this.objects);
    return runs;
  }

  async checkExpiry(traceTier: TraceTier): Promise<void> {
    if (!this.held) return;
    writeTier(this.sql, traceTier);
    this.alarmIsSet = true;
    await this.ctx.storage.setAlarm(Date.now() + REGISTER_DELAY_MS);
  }

  async destroy(identity: Omit<PartitionIdentity, "traceTier">): Promise<void> {
    if (this.tables.isNewer) throw newerFormat();
    return this.ending.run(() => this.end(identity));
  }

  private async end(identity: Omit<PartitionIdentity, "traceTier">): Promise<void> {
    this.gather.flush();
    if (this.held) {
      this.ending.mark(this.sql);
      this.alarmIsSet = true;
      await this.ctx.storage.setAlarm(Date.now() + LEAST_WAIT_MS);
      await deleteLinks(this.env, identity, (traceIds) => tracesBegunHere(this.sql, traceIds));
    }
    await deleteOutside(this.env, identity);
    await this.ctx.storage.deleteAlarm();
    const deleted = this.ctx.storage.deleteAll();
    this.alarmIsSet = false;
    this.tables.refresh();
    this.shards = 1;
    await deleted;
  }

  /**
   * Registers the partition in D1, or destroys it when it has expired. A failure is logged and the alarm is set again,
   * because the platform drops an alarm after six failures.
   */
  override async alarm(): Promise<void> {
    if (this.tables.isNewer) return this.ctx.storage.setAlarm(Date.now() + NEWER_ALARM_MS);
    this.alarmIsSet = false;
    try {
      const next = await this.onAlarm();
      // A concurrent write has set an earlier alarm.
      if (next !== undefined && !this.alarmIsSet) await this.ctx.storage.setAlarm(next);
    } catch (error) {
      logError(error, { partition: this.ctx.id.toString(), while: "its alarm" });
      if (!this.held) return;
      this.alarmIsSet = true;
      await this.ctx.storage.setAlarm(nextAttempt(this.env, this.sql, Date.now()));
    }
  }

  /** Returns the time of the next alarm, or undefined when the partition is empty. */
  private async onAlarm(): Promise<number | undefined> {
    const identity = this.known((identity) => identity);
    if (!identity) return undefined;
    const retention = await readRetention(this.env, identity);
    if (!this.held) return undefined;
    if (retention) writeTier(this.sql, retention.traceTier);
    const expiry = () => currentExpiry(this.env, this.sql, retention);
    const isOver = () => {
      // A write that waits counts as the last one.
      if (this.held) this.gather.flush();
      return this.held && expiry() <= Date.now();
    };
    if (!this.ending.isOn && isOver()) await loadKept(this.env, this.sql, identity);
    if (this.ending.isOn || (isOver() && readKeptUntil(this.env, this.sql) <= Date.now()))
      return this.destroy(identity).then(() => undefined);
    const isDropped = !isOver() || (await dropExpired(this.env, this.ctx.storage, identity, isOver));
    if (!this.held) return undefined;
    await deleteRemains(this.env, this.sql, (read) => this.known(read), this.objects);
    if (!this.held) return undefined;
    await register(this.env, this.sql, () => this.held && !this.ending.isOn);
    const isDone = await this.closeBlocks(isDayOver(identity.day));
    if (!this.held) return undefined;
    if (!isDone || !isDropped) return Date.now() + REGISTER_DELAY_MS;
    const end = isOver() ? readKeptUntil(this.env, this.sql) : expiry();
    return Math.min(end, nextDue(this.sql), nextClose(this.sql, identity.day));
  }

  /** True when no block is left to seal. */
  protected async closeBlocks(isOver: boolean): Promise<boolean> {
    return closeSome(this.ctx.storage, isOver, () => this.held);
  }

  /** Prepares the first commit. */
  private async begin(identity: PartitionIdentity): Promise<void> {
    const isHeld = this.held;
    this.ending.refuse();
    if (isHeld) return;
    const deleted = await this.ending.refuseAround(() => announce(this.env, identity));
    this.deletedBefore = this.deletedBefore.concat(deleted);
  }

  private get sql(): SqlStorage {
    return this.ctx.storage.sql;
  }

  /** Whether there are tables: the first commit makes them, so that reads of an unknown partition store nothing. */
  private get held(): boolean {
    return this.tables.made;
  }

  private known<T>(read: (identity: PartitionIdentity) => T): T | undefined {
    const identity = this.held ? readMeta(this.sql, "identity") : undefined;
    return identity && read(identity);
  }

  /** Stores that the day has this many shards, when that is more than this shard knows. */
  private learn(identity: PartitionIdentity, shards: number): void {
    if (shards <= this.shards) return;
    this.commit(identity, () => writeMeta(this.sql, "shards", shards));
    this.shards = shards;
  }

  /** The writes that belong here: all, or those of the traces that a closed shard holds. */
  private pickOwn({ shard }: PartitionIdentity, writes: RunWrite[]): RunWrite[] {
    if (!isClosed(shard, this.shards)) return writes;
    this.gather.flush();
    return writesOfHeldRuns(this.sql, writes);
  }

  private apply(writes: RunWrite[]): void {
    const identity = this.identity;
    if (!identity) throw new Error("A write came without the partition's identity.");
    const prefix = blobPrefix(identity.workspaceId, identity);
    for (const group of this.held ? [...groupWrites(this.sql, writes)] : [writes]) {
      this.commit(identity, () => {
        const kept = keepWrites(this.sql, prefix, group);
        applyWrites(this.sql, prefix, dayBounds(identity.day), kept, priceTable(this.env.TRACE_PRICES));
      });
    }
  }

  /** Writes in one transaction. The first commit creates the tables. */
  private commit<T>(identity: PartitionIdentity, write: () => T): T {
    const result = this.tables.write(() => {
      if (this.deletedBefore.length > 0) noteDeleted(this.sql, this.deletedBefore);
      identify(this.sql, identity);
      return write();
    });
    this.deletedBefore = [];
    return result;
  }

  /** The first runs of a day are registered at once, so that queries find the day; later counts, and what fails here, follow by alarm. */
  private async scheduleRegistration(): Promise<void> {
    if (!this.held) return;
    if (!this.alarmIsSet) {
      this.alarmIsSet = true;
      await this.ctx.storage.setAlarm(Date.now() + REGISTER_DELAY_MS);
    }
    if (readMeta(this.sql, "registered") !== undefined) return;
    await register(this.env, this.sql, () => this.held && !this.ending.isOn).catch((error: unknown) =>
      logError(error, { while: "registering a trace partition" }),
    );
  }
}

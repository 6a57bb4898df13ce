/** The TracePartition Durable Object: the runs of one project that started on one UTC day. */
import { DurableObject } from "cloudflare:workers";
import { logError } from "../http/log.ts";
import { crossingTraces, tracesPassing } from "./partition/crossing.ts";
import { deleteFeedback, getFeedback, putFeedback } from "./partition/feedback.ts";
import { Gather } from "./partition/gather.ts";
import { readMeta, writeMeta } from "./partition/meta.ts";
import { readPage } from "./partition/page.ts";
import { queryRuns, storedIds } from "./partition/read.ts";
import { runTimes } from "./partition/run-times.ts";
import { deleteOutside, expiryOf, register, REGISTER_DELAY_MS } from "./partition/register.ts";
import { childrenOf, listThreads, partitionStats } from "./partition/stats.ts";
import { migrate } from "./partition/tables.ts";
import { applyWrites } from "./partition/write.ts";
import type { PageRequest, RunPage } from "./page.ts";
import { priceTable } from "./prices.ts";
import type {
  PartitionIdentity,
  PartitionStats,
  QueriedRun,
  QueryRequest,
  RunSelection,
  RunTimes,
  RunWrite,
  StoredFeedback,
  ThreadSummary,
  TracePartitionRpc,
} from "./rpc.ts";
import { dayBounds } from "./time.ts";

/** One project's day. Its name holds workspace, project and day, and the identity comes with every write. */
export class TracePartition extends DurableObject<Env> implements TracePartitionRpc {
  private alarmIsSet = false;
  /** As the last write told it: only a project's tier ever changes. */
  private told: PartitionIdentity | undefined;
  private readonly gather = new Gather((writes) => this.apply(writes));

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    migrate(ctx.storage);
  }

  async upsert(identity: PartitionIdentity, writes: RunWrite[], soon = false): Promise<void> {
    this.told = identity;
    if (soon) await this.gather.add(writes);
    else this.apply(writes);
    await this.tell();
  }

  async which(ids: string[]): Promise<string[]> {
    return storedIds(this.sql, ids);
  }

  async readPage(request: PageRequest): Promise<RunPage | undefined> {
    return this.known((identity) => readPage(this.sql, identity, request));
  }

  async query(request: QueryRequest): Promise<{ runs: QueriedRun[]; done: boolean }> {
    return this.known((identity) => queryRuns(this.sql, identity, request)) ?? { runs: [], done: true };
  }

  async crossing(): Promise<string[]> {
    return crossingTraces(this.sql);
  }

  async tracesPassing(traces: string[], test: { filter: string; root: boolean }): Promise<string[]> {
    return this.known((identity) => tracesPassing(this.sql, identity, traces, test)) ?? [];
  }

  async stats(selection: RunSelection): Promise<PartitionStats> {
    const nobody = { workspaceId: "", projectId: "", day: "", traceTier: "longlived" as const };
    return partitionStats(this.sql, readMeta(this.sql, "identity") ?? nobody, selection);
  }

  async threads(selection: RunSelection): Promise<ThreadSummary[]> {
    return this.known((identity) => listThreads(this.sql, identity, selection)) ?? [];
  }

  async runTimes(): Promise<RunTimes> {
    return this.ctx.storage.transactionSync(() => runTimes(this.sql));
  }

  async children(id: string): Promise<{ direct: string[]; all: string[] }> {
    return childrenOf(this.sql, id);
  }

  async putFeedback(identity: PartitionIdentity, feedback: StoredFeedback): Promise<StoredFeedback> {
    return this.ctx.storage.transactionSync(() => {
      this.identify(identity);
      return putFeedback(this.sql, feedback);
    });
  }

  async getFeedback(ids: string[]): Promise<StoredFeedback[]> {
    return getFeedback(this.sql, ids);
  }

  async deleteFeedback(id: string): Promise<boolean> {
    return this.ctx.storage.transactionSync(() => deleteFeedback(this.sql, id));
  }

  async destroy(identity: Pick<PartitionIdentity, "workspaceId" | "projectId" | "day">): Promise<void> {
    await deleteOutside(this.env, identity);
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    this.alarmIsSet = false;
    migrate(this.ctx.storage);
  }

  override async alarm(): Promise<void> {
    this.alarmIsSet = false;
    const identity = readMeta(this.sql, "identity");
    if (!identity) return;
    const expiry = expiryOf(this.env, this.sql) ?? Number.POSITIVE_INFINITY;
    if (expiry <= Date.now()) return this.destroy(identity);
    await register(this.env, this.sql);
    // A write during the registration has set its own, earlier alarm.
    if (!this.alarmIsSet) await this.ctx.storage.setAlarm(expiry);
  }

  private get sql(): SqlStorage {
    return this.ctx.storage.sql;
  }

  private known<T>(read: (identity: PartitionIdentity) => T): T | undefined {
    const identity = readMeta(this.sql, "identity");
    return identity === undefined ? undefined : read(identity);
  }

  private apply(writes: RunWrite[]): void {
    const identity = this.told;
    if (!identity) throw new Error("Nobody has told this partition what it is.");
    this.ctx.storage.transactionSync(() => {
      this.identify(identity);
      applyWrites(this.sql, dayBounds(identity.day), writes, priceTable(this.env.TRACE_PRICES));
    });
  }

  private identify(identity: PartitionIdentity): void {
    const known = readMeta(this.sql, "identity");
    if (known?.traceTier !== identity.traceTier) writeMeta(this.sql, "identity", identity);
  }

  /** The first runs of a day are registered at once, so that queries find the day; later counts follow by alarm. */
  private async tell(): Promise<void> {
    const isFirst = readMeta(this.sql, "registered") === undefined;
    if (!isFirst && this.alarmIsSet) return;
    if (!this.alarmIsSet) {
      this.alarmIsSet = true;
      await this.ctx.storage.setAlarm(Date.now() + REGISTER_DELAY_MS);
    }
    if (!isFirst) return;
    try {
      await register(this.env, this.sql);
    } catch (error) {
      // The runs are safe, and the alarm will register them.
      logError(error, { while: "registering a trace partition" });
    }
  }
}

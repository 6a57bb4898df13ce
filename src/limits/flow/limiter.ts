/**
 * The limiter of a workspace: the claims of its runs, in its object's storage. A slot is free only when the run's thread has
 * said that the run is over. docs/flow-control.md has the protocol and its proof.
 */
import { DurableObject } from "cloudflare:workers";
import { NEWER_ALARM_MS, newerFormat, ObjectTables, type TableSchema } from "../../lib/object-tables.ts";
import { dispatchRpc, type RpcTarget } from "../../lib/rpc.ts";
import { type SlotLease, SlotBook, COUNTED_MS, type QueuePosition, type PoolUse } from "./book.ts";
import { deployedRules, type FlowRule, MAX_RULES, ownInForce } from "./rule.ts";
import { logError } from "../../lib/log.ts";
import { applies, type FlowClaim, limitsIn, readClaim, type RunFlow } from "./run-flow.ts";
import type { AcquireResult, FlowRpc, GrantSlots, NewSlotLease, WaitingLease } from "./rpc.ts";

// The tables of a workspace's limiter, in its Durable Object's SQLite, and every statement on them.

const SCHEMA: TableSchema = {
  kind: "limiter",
  steps: [
    `CREATE TABLE leases (run_id TEXT PRIMARY KEY, body TEXT NOT NULL, granted INTEGER, ended INTEGER, tokens INTEGER,
       stopped INTEGER) STRICT, WITHOUT ROWID;
     CREATE TABLE rules (id TEXT PRIMARY KEY, body TEXT NOT NULL) STRICT, WITHOUT ROWID;`,
  ],
};

interface LeaseRow extends Record<string, SqlStorageValue> {
  run_id: string;
  body: string;
  granted: number | null;
  ended: number | null;
  tokens: number | null;
  stopped: number | null;
}

/** A claim of this version. */
type ClaimedLease = SlotLease & { claim: FlowClaim };

/**
 * What a claim's row has as JSON. What it needed when it was made is for the previous version: here it follows from the rules. Only the
 * slots of rules of langgraph.json, which have their limits, stay as they were, and `deployed`.
 */
type Body = Pick<SlotLease, "threadId" | "created" | "due" | "priority" | "needs" | "turn"> &
  Pick<FlowClaim, "facts"> & { deployed?: Pick<RunFlow, "priority" | "turn"> };

export class FlowTables {
  readonly #sql: SqlStorage;
  readonly #tables: ObjectTables;

  constructor(storage: DurableObjectStorage) {
    this.#sql = storage.sql;
    this.#tables = new ObjectTables(storage, SCHEMA);
  }

  /** A newer version wrote the limiter. */
  get isNewer(): boolean {
    return this.#tables.isNewer;
  }

  /** The limiter of a newer version begins without its rows, so that its alarm can be set again. It refuses all calls. */
  get #isReadable(): boolean {
    return !this.#tables.isNewer && this.#tables.made;
  }

  /** One transaction. */
  write(work: () => void): void {
    this.#tables.write(work);
  }

  /** Without what they need by the workspace's rules. */
  leases(): (NewSlotLease & Pick<SlotLease, "granted" | "ended" | "tokens" | "stopped">)[] {
    if (!this.#isReadable) return [];
    const rows = this.#sql.exec<LeaseRow>("SELECT * FROM leases ORDER BY granted").toArray();
    return rows.map(({ run_id, body, granted, ended, tokens, stopped }) => {
      const { threadId, created, due, needs, facts, deployed, ...decided } = JSON.parse(body) as Body;
      const { priority, turn } = deployed ?? decided;
      return {
        runId: run_id,
        threadId,
        created,
        due,
        claim: { flow: { priority, needs: needs.filter(({ limits }) => limits !== undefined), turn }, facts },
        granted: granted ?? undefined,
        ended: ended ?? undefined,
        tokens: tokens ?? undefined,
        stopped: stopped !== null,
      };
    });
  }

  insertLease({ runId, claim: { flow, facts }, granted, stopped, ...lease }: ClaimedLease): void {
    const { threadId, created, due, priority, needs, turn } = lease;
    const deployed = { priority: flow.priority, turn: flow.turn };
    const body: Body = { threadId, created, due, priority, needs, turn, facts, deployed };
    const sql = "INSERT INTO leases VALUES (?, ?, ?, NULL, NULL, ?)";
    this.#sql.exec(sql, runId, JSON.stringify(body), granted ?? null, stopped ? 1 : null);
  }

  setLease({ runId, granted, ended, tokens, stopped }: SlotLease): void {
    const sql = "UPDATE leases SET granted = ?, ended = ?, tokens = ?, stopped = ? WHERE run_id = ?";
    this.#sql.exec(sql, granted ?? null, ended ?? null, tokens ?? null, stopped ? 1 : null, runId);
  }

  renameLease(runId: string, to: string): void {
    this.#sql.exec("UPDATE leases SET run_id = ? WHERE run_id = ?", to, runId);
  }

  deleteLease(runId: string): void {
    this.#sql.exec("DELETE FROM leases WHERE run_id = ?", runId);
  }

  rules(): FlowRule[] {
    if (!this.#isReadable) return [];
    const rows = this.#sql.exec<{ body: string }>("SELECT body FROM rules ORDER BY id").toArray();
    return rows.map(({ body }) => JSON.parse(body) as FlowRule);
  }

  putRule(rule: FlowRule): void {
    const sql = "INSERT INTO rules VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body";
    this.#sql.exec(sql, rule.id, JSON.stringify(rule));
  }

  deleteRule(id: string): void {
    this.#sql.exec("DELETE FROM rules WHERE id = ?", id);
  }
}

/** Claims that wait at most: about 20 MB of memory. */
const MAX_WAITING = 50_000;
/** Milliseconds until the limiter asks whether a run still holds its slots: as long as it has run, within these. */
const CHECK_MS = { least: 60_000, most: 600_000 };
/** Milliseconds until a call of a thread that failed is repeated: doubled each time, up to the most. */
const RETRY_MS = { least: 1_000, most: 60_000 };
/** Calls of threads at a time. */
const AT_ONCE = 64;
/** Milliseconds after which a call that a restart interrupted is repeated. */
const CALLING_MS = 5_000;
/** Milliseconds between the calls for two runs after a restart. */
const SPREAD_MS = 5;

/** A call of a thread about its run. */
interface DueCall {
  at: number;
  tries: number;
}

/** The Durable Object of one workspace's slots. */
export class LimiterObject extends DurableObject<Env> implements FlowRpc, RpcTarget {
  readonly #tables: FlowTables;
  #rules = new Map<string, FlowRule>();
  #book: SlotBook;
  /** By run: when the thread of a claim with slots is called next. */
  readonly #calls = new Map<string, DueCall>();
  readonly #calling = new Set<string>();
  #alarmAt: number | undefined;
  /** When a claim that has ended is counted no more. */
  #pruneAt: number | undefined;
  /** When runs were released, by id and creation, the oldest first: a call that claims may be repeated, and arrive after that. */
  readonly #released = new Map<string, number>();

  constructor(
    ctx: DurableObjectState,
    env: Env,
    private readonly grant: GrantSlots,
  ) {
    super(ctx, env);
    this.#tables = new FlowTables(ctx.storage);
    this.#book = this.#load();
    this.#arm();
  }

  async dispatch(method: string, args: unknown[]): Promise<unknown> {
    if (this.#tables.isNewer) throw newerFormat();
    return dispatchRpc(this, method, args);
  }

  async rules(): Promise<FlowRule[]> {
    return [...this.#rules.values()];
  }

  async putRule(rule: FlowRule): Promise<boolean> {
    if (!this.#rules.has(rule.id) && this.#rules.size >= MAX_RULES) return false;
    this.#change(() => {
      this.#tables.putRule(rule);
      const previous = this.#rules.get(rule.id);
      this.#rules.set(rule.id, rule);
      this.#matchAgain([rule, ...(previous ? [previous] : [])]);
      return undefined;
    });
    return true;
  }

  async deleteRule(id: string): Promise<void> {
    const rule = this.#rules.get(id);
    if (!rule) return;
    this.#change(() => {
      this.#tables.deleteRule(id);
      this.#rules.delete(id);
      this.#matchAgain([rule]);
      return undefined;
    });
  }

  async acquire(given: NewSlotLease): Promise<AcquireResult> {
    const known = this.#book.lease(given.runId);
    if (this.#released.has(claimName(given))) return "waits";
    if (known?.created === given.created) return isHolding(known) ? "granted" : "waits";
    // The run of before was deleted with its thread, and has ended.
    if (known) await this.release(known.runId, known.created);
    if (this.#book.waiting >= MAX_WAITING) return "full";
    const lease: ClaimedLease = { ...given, ...readClaim(given.claim, this.#ownRules) };
    // The rules that limited the run are gone.
    if (lease.needs.length === 0) return "granted";
    let stopped: SlotLease[] = [];
    this.#change(() => {
      const counted = this.#book.rename(given.runId);
      if (counted) this.#tables.renameLease(given.runId, counted);
      this.#book.add(lease);
      stopped = this.#book.replace(lease, Date.now());
      for (const one of stopped) if (one !== lease) this.#tables.setLease(one);
      return lease;
    }, lease);
    for (const { runId } of stopped) this.#calls.set(runId, { at: Date.now(), tries: 0 });
    if (stopped.length > 0) this.#callDue(Date.now(), stopped);
    return isHolding(lease) ? "granted" : "waits";
  }

  async release(runId: string, created: number, tokens = 0): Promise<void> {
    this.#keepReleased(claimName({ runId, created }));
    const lease = this.#book.lease(runId);
    // A repeated call may be about a run of the past with the same id.
    if (lease?.created !== created || lease.ended !== undefined) return;
    this.#calls.delete(runId);
    this.#change(() => {
      const now = Date.now();
      if (this.#book.end(lease, now, tokens)) this.#tables.deleteLease(runId);
      else {
        this.#tables.setLease(lease);
        this.#pruneAt ??= now + COUNTED_MS;
      }
      return lease;
    });
  }

  async position(runId: string): Promise<QueuePosition | undefined> {
    const lease = this.#book.lease(runId);
    return lease && this.#book.position(lease, Date.now());
  }

  async uses(most: number): Promise<PoolUse[]> {
    const uses = this.#book.uses(Date.now());
    return uses.toSorted((a, b) => b.waiting - a.waiting || b.held - a.held).slice(0, most);
  }

  async waiting(rule: string | undefined, key: string | undefined, most: number): Promise<WaitingLease[]> {
    const now = Date.now();
    return this.#book.queue(rule, key, most).flatMap((lease) => {
      const { runId, threadId, priority, due } = lease;
      const position = this.#book.position(lease, now);
      return position ? [{ run_id: runId, thread_id: threadId, priority, due, ...position }] : [];
    });
  }

  /** Calls the threads that are due, and grants what time has freed. Never throws: the platform gives up an alarm after six times. */
  override async alarm(): Promise<void> {
    if (this.#tables.isNewer) return this.ctx.storage.setAlarm(Date.now() + NEWER_ALARM_MS);
    this.#alarmAt = undefined;
    try {
      const now = Date.now();
      const old = this.#book.prune(now);
      this.#pruneAt = this.#book.nextPrune;
      if (old.length > 0) this.#tables.write(() => old.forEach((runId) => this.#tables.deleteLease(runId)));
      if (this.#book.waiting > 0) this.#change(() => undefined);
      this.#callDue(now);
    } catch (error) {
      logError(error, { while: "the alarm of flow control" });
      // What failed is still due. It must not fail again at once, and again.
      return this.#setAlarm(Date.now() + RETRY_MS.least);
    }
    this.#arm();
  }

  /**
   * Carries out a change and grants what it frees, in one transaction. `work` gives the claim near which slots became free;
   * undefined: anywhere. `asker`: a new claim, which is stored. Its thread gets the grant as its answer.
   */
  #change(work: () => SlotLease | undefined, asker?: ClaimedLease): void {
    let granted: SlotLease[] = [];
    try {
      this.#tables.write(() => {
        const near = work();
        granted = this.#book.grant(Date.now(), near);
        if (asker) this.#tables.insertLease(asker);
        for (const lease of granted) if (lease !== asker) this.#tables.setLease(lease);
      });
    } catch (error) {
      // Memory is ahead of the storage.
      this.#book = this.#load();
      throw error;
    }
    const now = Date.now();
    for (const lease of granted)
      this.#calls.set(lease.runId, { at: lease === asker ? now + CHECK_MS.least : now, tries: 0 });
    this.#callDue(now, granted);
    this.#arm();
  }

  get #ownRules(): FlowRule[] {
    return ownInForce(deployedRules, [...this.#rules.values()]);
  }

  /**
   * A rule has changed, from one of these to the other: the claims that either matches need what the rules say as they are. Those that
   * hold slots hold what they match then, which may be none.
   */
  #matchAgain(changed: FlowRule[]): void {
    const leases = [...this.#book.leases()];
    const own = this.#ownRules;
    let isSame = true;
    for (const lease of leases) {
      const { claim, priority, needs, turn } = lease;
      if (!claim || !changed.some((rule) => applies(rule, claim.facts))) continue;
      const matched = readClaim(claim, own);
      isSame &&=
        JSON.stringify([priority, needs, turn]) === JSON.stringify([matched.priority, matched.needs, matched.turn]);
      Object.assign(lease, matched);
    }
    if (!isSame) this.#book = this.#newBook(leases.toSorted((a, b) => (a.granted ?? 0) - (b.granted ?? 0)));
  }

  /** `leases`: in the order in which they were granted. */
  #newBook(leases: SlotLease[]): SlotBook {
    const book = new SlotBook((rule) => {
      const own = this.#rules.get(rule);
      return own && limitsIn(own);
    });
    for (const lease of leases) book.add(lease);
    return book;
  }

  #keepReleased(name: string): void {
    const now = Date.now();
    for (const [known, at] of this.#released) {
      if (at > now - COUNTED_MS) break;
      this.#released.delete(known);
    }
    this.#released.set(name, now);
  }

  /** Calls threads that are due, as far as there is room for calls. */
  #callDue(now: number, leases: Iterable<SlotLease> = this.#book.leases()): void {
    for (const lease of leases) {
      if (this.#calling.size >= AT_ONCE) return;
      const call = this.#calls.get(lease.runId);
      if (!call || call.at > now || this.#calling.has(lease.runId)) continue;
      this.#calling.add(lease.runId);
      this.ctx.waitUntil(this.#call(lease, call));
    }
  }

  /** Tells the thread that its run has its slots. The slots of a run that is over are free. */
  async #call(lease: SlotLease, call: DueCall): Promise<void> {
    const { threadId, runId, created } = lease;
    try {
      const holds = await this.grant(threadId, runId, created, lease.stopped ?? false);
      if (this.#book.lease(runId) !== lease) return;
      if (!holds) return await this.release(runId, created);
      const now = Date.now();
      if (lease.stopped) return void this.#calls.set(runId, { at: now + CALLING_MS, tries: 0 });
      const age = now - (lease.granted ?? now);
      this.#calls.set(runId, { at: now + Math.min(CHECK_MS.most, Math.max(CHECK_MS.least, age)), tries: 0 });
    } catch (error) {
      logError(error, { thread: threadId, while: "granting a run its slots" });
      // Whether the run has begun is not known, so it keeps its slots.
      const wait = Math.min(RETRY_MS.most, RETRY_MS.least * 2 ** call.tries);
      if (this.#calls.get(runId) === call) this.#calls.set(runId, { at: Date.now() + wait, tries: call.tries + 1 });
    } finally {
      this.#calling.delete(runId);
      if (this.#calling.size === AT_ONCE - 1) this.#callDue(Date.now());
      this.#arm();
    }
  }

  /** Sets the alarm to what is due first. An earlier one stays. */
  #arm(): void {
    const free = this.#book.waiting > 0 ? this.#book.nextFree(Date.now()) : undefined;
    let due = this.#pruneAt !== undefined && this.#pruneAt < (free ?? Infinity) ? this.#pruneAt : free;
    for (const [runId, { at }] of this.#calls) {
      // What is being called is called again if this process stops in the meantime.
      const next = this.#calling.has(runId) ? Date.now() + CALLING_MS : at;
      if (due === undefined || next < due) due = next;
    }
    if (due === undefined || (this.#alarmAt !== undefined && this.#alarmAt <= due)) return;
    this.#setAlarm(due);
  }

  #setAlarm(at: number): void {
    this.#alarmAt = at;
    this.ctx.waitUntil(this.ctx.storage.setAlarm(at));
  }

  /** What the storage has. Threads of claims with slots are called soon: a call of before may not have arrived. */
  #load(): SlotBook {
    this.#rules = new Map(this.#tables.rules().map((rule) => [rule.id, rule]));
    const own = this.#ownRules;
    const leases = this.#tables.leases().map((lease) => ({ ...lease, ...readClaim(lease.claim, own) }));
    const book = this.#newBook(leases);
    this.#calls.clear();
    const now = Date.now();
    let held = 0;
    for (const lease of leases) {
      if (lease.ended !== undefined || !(isHolding(lease) || lease.stopped)) continue;
      this.#calls.set(lease.runId, { at: now + RETRY_MS.least + held * SPREAD_MS, tries: 0 });
      held += 1;
    }
    this.#pruneAt = book.nextPrune;
    return book;
  }
}

/** Names a run also after one with the same id was deleted. */
const claimName = ({ runId, created }: Pick<SlotLease, "runId" | "created">): string => `${runId} ${created}`;

const isHolding = ({ granted, ended }: SlotLease): boolean => granted !== undefined && ended === undefined;

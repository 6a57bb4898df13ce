/**
 * Who holds slots, who waits, and who is next. In memory and pure: no storage, no clock, no calls. docs/flow-control.md says the
 * rules in prose.
 */
import type { FlowClaim, FlowLimits, SlotNeed } from "./run-flow.ts";

// What one key of one rule has in use: held slots, and what its last minute counts.

const MINUTE_MS = 60_000;

/** Why a slot is not free. */
export type SlotReason = keyof FlowLimits;

/** Amounts of the last minute, the oldest first. */
class Minute {
  #entries: { at: number; n: number }[] = [];
  #sum = 0;

  add(at: number, n: number): void {
    const place = this.#entries.findLastIndex((one) => one.at <= at) + 1;
    this.#entries.splice(place, 0, { at, n });
    this.#sum += n;
  }

  sum(now: number): number {
    const left = this.#entries.findIndex(({ at }) => at > now - MINUTE_MS);
    const gone = this.#entries.splice(0, left === -1 ? this.#entries.length : left);
    for (const { n } of gone) this.#sum -= n;
    return this.#sum;
  }

  /** When the sum falls below `limit` if nothing is added: never below zero. */
  below(limit: number, now: number): number {
    if (limit <= 0) return Infinity;
    let sum = this.sum(now);
    let at = now;
    for (const one of this.#entries) {
      if (sum < limit) break;
      sum -= one.n;
      at = one.at + MINUTE_MS;
    }
    return at;
  }
}

export class SlotPool<Holder extends object> {
  readonly holders = new Set<Holder>();
  readonly #starts = new Minute();
  readonly #tokens = new Minute();

  constructor(
    readonly rule: string,
    readonly key: string,
  ) {}

  get held(): number {
    return this.holders.size;
  }

  started(at: number): void {
    this.#starts.add(at, 1);
  }

  used(at: number, tokens: number): void {
    this.#tokens.add(at, tokens);
  }

  /** What of the last minute its limits count. */
  counts(now: number): { starts: number; tokens: number } {
    return { starts: this.#starts.sum(now), tokens: this.#tokens.sum(now) };
  }

  /** Why these limits leave no slot for a run that was due at `due`. Undefined when there is one. */
  blocked(limits: FlowLimits, now: number, due: number): SlotReason | undefined {
    const { paused, concurrency, starts_per_minute, tokens_per_minute, singleton, debounce_seconds = 0 } = limits;
    if (paused) return "paused";
    if (due + debounce_seconds * 1000 > now && debounce_seconds > 0) return "debounce_seconds";
    if (singleton !== undefined && this.held > 0) return "singleton";
    if (concurrency !== undefined && this.held >= concurrency) return "concurrency";
    if (starts_per_minute !== undefined && this.#starts.sum(now) >= starts_per_minute) return "starts_per_minute";
    if (tokens_per_minute !== undefined && this.#tokens.sum(now) >= tokens_per_minute) return "tokens_per_minute";
    return undefined;
  }

  /** When a slot becomes free by time alone, as far as time decides. */
  freeAt(limits: FlowLimits, now: number, due: number): number {
    if (limits.paused) return Infinity;
    const { starts_per_minute = Infinity, tokens_per_minute = Infinity, debounce_seconds = 0 } = limits;
    const minute = Math.max(this.#starts.below(starts_per_minute, now), this.#tokens.below(tokens_per_minute, now));
    return Math.max(minute, due + debounce_seconds * 1000);
  }
}

/** How long a run waits for each level of priority that it gains, milliseconds. */
const LEVEL_MS = 60_000;
const HIGHEST_PRIORITY = 9;
/** Lanes that are kept in memory while nothing waits in some of them. */
const MAX_LANES = 2_000;
/** How long an ended claim is kept: limits a minute count its start and its tokens. */
export const COUNTED_MS = 60_000;

/** A run that needs slots. It holds all of them or none. */
export interface SlotLease {
  runId: string;
  threadId: string;
  /** When the run was made: with its id, it names the run also after one with the same id was deleted. */
  created: number;
  /** When it was due, by which it is older than others. */
  due: number;
  priority: number;
  needs: SlotNeed[];
  turn?: string;
  /** From which its priority, needs and turn follow, again when a rule changes. */
  claim?: FlowClaim;
  /** When it got its slots. Undefined: it waits. */
  granted?: number;
  /** When its run ended. Its slots are free; limits a minute count it. */
  ended?: number;
  tokens?: number;
  /** Another run of its key has taken its place: its thread stops it. It waits no longer, and holds what it holds until its end. */
  stopped?: boolean;
}

/** Claims with the same needs: the first one is blocked only when all are. */
interface Lane {
  waiting: SlotLease[];
  pools: SlotPool<SlotLease>[];
  /** The number of its last grant. */
  last: number;
}

export interface QueuePosition {
  /** 1: the next. Turns and other limits may let others begin before. */
  position: number;
  waiting_for: { rule: string; key: string; reason: SlotReason }[];
}

export interface PoolUse {
  rule: string;
  key: string;
  held: number;
  waiting: number;
  starts: number;
  tokens: number;
  /** When the claim that waits longest was due. */
  oldest?: number;
}

export class SlotBook {
  readonly #leases = new Map<string, SlotLease>();
  readonly #pools = new Map<string, SlotPool<SlotLease>>();
  readonly #lanes = new Map<string, Lane>();
  /** The lanes with a claim that waits for slots of several rules. */
  readonly #several = new Set<Lane>();
  /** The lanes with a claim that waits, by pool. */
  readonly #lanesByPool = new Map<SlotPool<SlotLease>, Set<Lane>>();
  #grants = 0;
  #waiting = 0;

  /** `ruleLimits`: the limits of a rule of the workspace; undefined when it is deleted. */
  constructor(private readonly ruleLimits: (rule: string) => FlowLimits | undefined) {}

  get waiting(): number {
    return this.#waiting;
  }

  lease(runId: string): SlotLease | undefined {
    return this.#leases.get(runId);
  }

  /** All claims: held, waiting and ended. */
  leases(): Iterable<SlotLease> {
    return this.#leases.values();
  }

  /** Adds a claim as it is: one that waits, or one that was granted or has ended. */
  add(lease: SlotLease): void {
    this.#leases.set(lease.runId, lease);
    if (lease.granted === undefined) return lease.stopped ? undefined : this.#enqueue(lease);
    this.#count(lease);
    this.#lane(lease).last = this.#grants += 1;
  }

  /**
   * Stops what a new claim replaces, or the claim itself, by `singleton` and `debounce_seconds`: of the latter, claims whose time has not
   * passed. What is stopped.
   */
  replace(lease: SlotLease, now: number): SlotLease[] {
    const found = lease.needs.map((need) => {
      const { singleton, debounce_seconds = 0 } = this.#limits(need);
      const pool = this.#pool(need);
      const waiting = [...(this.#lanesByPool.get(pool) ?? [])].flatMap((lane) => lane.waiting);
      const isReplaced = ({ due }: SlotLease) => singleton || due + debounce_seconds * 1000 > now;
      const others = [...waiting.filter(isReplaced), ...(singleton ? pool.holders : [])];
      return { singleton, others: others.filter((one) => one !== lease) };
    });
    const loses = found.some(({ singleton, others }) => singleton === "first" && others.length > 0);
    const stopped = loses ? [lease] : [...new Set(found.flatMap(({ others }) => others))];
    for (const one of stopped.filter((other) => !other.stopped)) {
      if (one.granted === undefined) this.#dequeue(one);
      one.stopped = true;
    }
    return stopped;
  }

  /** The claim's run has ended: its slots are free, its place is gone. False when limits a minute still count it. */
  end(lease: SlotLease, now: number, tokens = 0): boolean {
    const held = lease.granted !== undefined && lease.ended === undefined;
    if (lease.granted === undefined && !lease.stopped) this.#dequeue(lease);
    if (held) for (const pool of this.#listPools(lease)) pool.holders.delete(lease);
    Object.assign(lease, { ended: now, tokens });
    if (held) this.#countTokens(lease);
    const kept = held && lease.needs.some((need) => isByMinute(this.#limits(need)));
    if (!kept) this.#leases.delete(lease.runId);
    return !kept;
  }

  /**
   * Makes a run's id free for the claim of another run. Limits a minute still count the claim that had it. The new name of that
   * claim; undefined when there is none.
   */
  rename(runId: string): string | undefined {
    const lease = this.#leases.get(runId);
    if (!lease) return undefined;
    this.#leases.delete(runId);
    lease.runId = `${runId} ${lease.created}`;
    this.#leases.set(lease.runId, lease);
    return lease.runId;
  }

  /**
   * Grants what may begin now, in order, and returns it. `near`: only claims that share a slot with this one can have become
   * free; all are tried without it.
   */
  grant(now: number, near?: SlotLease): SlotLease[] {
    const pools = near ? this.#listPools(near) : [];
    const lanes = near
      ? new Set(pools.flatMap((pool) => [...(this.#lanesByPool.get(pool) ?? [])]))
      : this.#lanes.values();
    const candidates = new Set([...lanes].filter(({ waiting }) => waiting.length > 0));
    const granted: SlotLease[] = [];
    for (;;) {
      let best: Lane | undefined;
      const first = this.#served(now);
      for (const lane of candidates) {
        if (this.#isBlocked(lane, now, first)) continue;
        if (!best || isBefore(lane, best, now)) best = lane;
      }
      if (!best) return granted;
      const [lease] = best.waiting as [SlotLease];
      this.#dequeue(lease);
      lease.granted = now;
      best.last = this.#grants += 1;
      this.#count(lease);
      granted.push(lease);
      // What was kept for it is free for others.
      if (first.includes(lease))
        for (const pool of best.pools) for (const lane of this.#lanesByPool.get(pool) ?? []) candidates.add(lane);
    }
  }

  /** When the first claim that has ended is counted no more. */
  get nextPrune(): number | undefined {
    const ends = [...this.#leases.values()].flatMap(({ ended }) => ended ?? []);
    return ends.length === 0 ? undefined : Math.min(...ends) + COUNTED_MS;
  }

  /** Removes lanes and keys that nothing uses, and claims that limits a minute no longer count. The ids of these claims. */
  prune(now: number): string[] {
    const old = [...this.#leases.values()].filter(({ ended = now }) => ended <= now - COUNTED_MS);
    for (const { runId } of old) this.#leases.delete(runId);
    if (this.#lanes.size > MAX_LANES) this.#removeIdle(now);
    return old.map(({ runId }) => runId);
  }

  /** The lanes go first: they refer to the pools. */
  #removeIdle(now: number): void {
    for (const [id, { waiting }] of this.#lanes) if (waiting.length === 0) this.#lanes.delete(id);
    for (const [id, pool] of this.#pools) {
      const { starts, tokens } = pool.counts(now);
      if (pool.held + starts + tokens > 0 || this.#lanesByPool.get(pool)?.size) continue;
      this.#lanesByPool.delete(pool);
      this.#pools.delete(id);
    }
  }

  /** The claims that wait for any rule, for one, or for one key of it: higher levels first, then age. */
  queue(rule: string | undefined, key: string | undefined, most: number): SlotLease[] {
    const pools = [...this.#pools.values()].filter(
      (pool) => (rule ?? pool.rule) === pool.rule && (key ?? pool.key) === pool.key,
    );
    const lanes = new Set(pools.flatMap((pool) => [...(this.#lanesByPool.get(pool) ?? [])]));
    const waiting = [...lanes].flatMap((lane) => lane.waiting);
    return waiting.toSorted((a, b) => scoreLease(a) - scoreLease(b)).slice(0, most);
  }

  /** Where a claim waits: behind those that have a higher level or are older, of those that need what it waits for. */
  position(lease: SlotLease, now: number): QueuePosition | undefined {
    if (lease.granted !== undefined || lease.stopped) return undefined;
    const first = this.#served(now);
    const reasons = lease.needs.flatMap((need) => {
      const reason = this.#pool(need).blocked(this.#limitsFor(lease, need, first), now, lease.due);
      return reason ? [{ rule: need.rule, key: need.key, reason }] : [];
    });
    const pools = new Set((reasons.length > 0 ? reasons : lease.needs).map((need) => this.#pool(need)));
    const lanes = new Set([...pools].flatMap((pool) => [...(this.#lanesByPool.get(pool) ?? [])]));
    const score = scoreLease(lease);
    let before = 0;
    for (const { waiting } of lanes) before += waiting.filter((one) => one !== lease && scoreLease(one) < score).length;
    return { position: before + 1, waiting_for: reasons };
  }

  /** When time alone may free a slot for a claim that waits. Undefined when it cannot. */
  nextFree(now: number): number | undefined {
    let next: number | undefined;
    const first = this.#served(now);
    for (const { waiting } of this.#lanes.values()) {
      const [lease] = waiting;
      if (!lease) continue;
      const at = Math.max(
        ...lease.needs.map((need) => this.#pool(need).freeAt(this.#limitsFor(lease, need, first), now, lease.due)),
      );
      if (at > now && at < (next ?? Infinity)) next = at;
    }
    return next;
  }

  /** What is in use and waits, by rule and key. */
  uses(now: number): PoolUse[] {
    return [...this.#pools.values()].flatMap((pool) => {
      const waiting = [...(this.#lanesByPool.get(pool) ?? [])].flatMap((lane) => lane.waiting);
      const counts = pool.counts(now);
      if (pool.held + waiting.length + counts.starts + counts.tokens === 0) return [];
      const oldest = waiting.reduce((least, { due }) => Math.min(least, due), Infinity);
      const { rule, key, held } = pool;
      return [{ rule, key, held, waiting: waiting.length, ...counts, ...(waiting.length > 0 && { oldest }) }];
    });
  }

  #count(lease: SlotLease): void {
    const { granted = 0, ended, needs } = lease;
    for (const need of needs) {
      const pool = this.#pool(need);
      if (ended === undefined) pool.holders.add(lease);
      if (this.#limits(need).starts_per_minute !== undefined) pool.started(granted);
    }
    this.#countTokens(lease);
  }

  #countTokens({ ended, tokens = 0, needs }: SlotLease): void {
    if (ended === undefined || tokens === 0) return;
    const limited = needs.filter((need) => this.#limits(need).tokens_per_minute !== undefined);
    for (const need of limited) this.#pool(need).used(ended, tokens);
  }

  #enqueue(lease: SlotLease): void {
    const lane = this.#lane(lease);
    const score = scoreLease(lease);
    const place = lane.waiting.findLastIndex((one) => scoreLease(one) <= score) + 1;
    lane.waiting.splice(place, 0, lease);
    this.#waiting += 1;
    if (lane.pools.length > 1) this.#several.add(lane);
    for (const pool of lane.pools) {
      const lanes = this.#lanesByPool.get(pool) ?? new Set();
      this.#lanesByPool.set(pool, lanes.add(lane));
    }
  }

  #dequeue(lease: SlotLease): void {
    const lane = this.#lane(lease);
    lane.waiting.splice(lane.waiting.indexOf(lease), 1);
    this.#waiting -= 1;
    if (lane.waiting.length > 0) return;
    this.#several.delete(lane);
    for (const pool of lane.pools) this.#lanesByPool.get(pool)?.delete(lane);
  }

  #isBlocked({ waiting, pools }: Lane, now: number, first: SlotLease[]): boolean {
    const [lease] = waiting;
    return (
      !lease || lease.needs.some((need, i) => pools[i]?.blocked(this.#limitsFor(lease, need, first), now, lease.due))
    );
  }

  /**
   * The claims that need slots of several rules and have waited to the highest level. One slot of each is kept for them: claims
   * that need only one of these slots would else take them in turn, without an end.
   */
  #served(now: number): SlotLease[] {
    const highest = [...this.#several].filter((lane) => computeLevel(lane, now) === HIGHEST_PRIORITY);
    return highest.flatMap(({ waiting }) => waiting.slice(0, 1)).filter((lease) => !this.#isHeldBack(lease, now));
  }

  /** Whether the claim would not begin if all slots were free. */
  #isHeldBack({ needs, due }: SlotLease, now: number): boolean {
    const reasons = needs.map((need) => this.#pool(need).blocked(this.#limits(need), now, due));
    return reasons.includes("paused") || reasons.includes("debounce_seconds");
  }

  /** The limits of what the claim needs, less what is kept for claims that are first and older. */
  #limitsFor(lease: SlotLease, need: SlotNeed, first: SlotLease[]): FlowLimits {
    const limits = this.#limits(need);
    const before = first.filter((one) => scoreLease(one) < scoreLease(lease) && needsSlot(one, need));
    return before.length > 0 ? lessSlots(limits, before.length) : limits;
  }

  #limits({ rule, limits }: SlotNeed): FlowLimits {
    return limits ?? this.ruleLimits(rule) ?? {};
  }

  #lane({ needs, turn = "" }: SlotLease): Lane {
    // The limits of a deployment differ between its versions: claims of both wait during a deploy.
    const id = JSON.stringify([needs, turn]);
    let lane = this.#lanes.get(id);
    if (!lane) this.#lanes.set(id, (lane = { waiting: [], pools: needs.map((need) => this.#pool(need)), last: 0 }));
    return lane;
  }

  #listPools({ needs }: SlotLease): SlotPool<SlotLease>[] {
    return needs.map((need) => this.#pool(need));
  }

  #pool({ rule, key }: Pick<SlotNeed, "rule" | "key">): SlotPool<SlotLease> {
    const id = `${rule} ${key}`;
    let pool = this.#pools.get(id);
    if (!pool) this.#pools.set(id, (pool = new SlotPool(rule, key)));
    return pool;
  }
}

const isByMinute = ({ starts_per_minute, tokens_per_minute }: FlowLimits): boolean =>
  starts_per_minute !== undefined || tokens_per_minute !== undefined;

const needsSlot = ({ needs }: SlotLease, { rule, key }: SlotNeed): boolean =>
  needs.some((need) => need.rule === rule && need.key === key);

/** What limits leave for others while some slots are kept. How many tokens a run will use is not known, so none are left. */
function lessSlots(limits: FlowLimits, kept: number): FlowLimits {
  const { concurrency, starts_per_minute, tokens_per_minute } = limits;
  return {
    ...limits,
    ...(concurrency !== undefined && { concurrency: concurrency - kept }),
    ...(starts_per_minute !== undefined && { starts_per_minute: starts_per_minute - kept }),
    ...(tokens_per_minute !== undefined && { tokens_per_minute: 0 }),
  };
}

/** The order in a lane: a level of priority counts as much as a minute of waiting. */
const scoreLease = ({ due, priority }: SlotLease): number => due - priority * LEVEL_MS;

/** The priority of a lane's first claim, which grows while it waits. */
const computeLevel = ({ waiting: [lease] }: Lane, now: number): number =>
  lease ? Math.min(HIGHEST_PRIORITY, Math.floor((now - scoreLease(lease)) / LEVEL_MS)) : -1;

/** Higher levels first, then the lane whose turn was longest ago, then age. */
function isBefore(a: Lane, b: Lane, now: number): boolean {
  const [levelA, levelB] = [computeLevel(a, now), computeLevel(b, now)];
  if (levelA !== levelB) return levelA > levelB;
  if (a.last !== b.last) return a.last < b.last;
  return scoreLease(a.waiting[0] as SlotLease) < scoreLease(b.waiting[0] as SlotLease);
}

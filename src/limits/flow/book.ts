/**
 * Who holds slots, who waits, and who is next. In memory and pure: no storage, no clock, no calls. docs/flow-control.md says the
 * rules in prose.
 */
import type { Limits, Need, RunFacts } from "./claim.ts";

// What one key of one rule has in use: held slots, and what its last minute counts.

const MINUTE_MS = 60_000;

/** Why a slot is not free. */
export type Reason = keyof Limits;

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

export class Pool<Holder extends object> {
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
  blocked(limits: Limits, now: number, due: number): Reason | undefined {
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
  freeAt(limits: Limits, now: number, due: number): number {
    if (limits.paused) return Infinity;
    const { starts_per_minute = Infinity, tokens_per_minute = Infinity, debounce_seconds = 0 } = limits;
    const minute = Math.max(this.#starts.below(starts_per_minute, now), this.#tokens.below(tokens_per_minute, now));
    return Math.max(minute, due + debounce_seconds * 1000);
  }
}

/** How long a run waits for each level of priority that it gains, milliseconds. */
const LEVEL_MS = 60_000;
const HIGHEST = 9;
/** Lanes that are kept in memory while nothing waits in some of them. */
const MOST_LANES = 2_000;
/** How long an ended claim is kept: limits a minute count its start and its tokens. */
export const COUNTED_MS = 60_000;

/** A run that needs slots. It holds all of them or none. */
export interface Claim {
  runId: string;
  threadId: string;
  /** When the run was made: with its id, it names the run also after one with the same id was deleted. */
  created: number;
  /** When it was due, by which it is older than others. */
  due: number;
  priority: number;
  needs: Need[];
  turn?: string;
  /** What rules read of its run, so that a rule that pauses it later holds it back. */
  facts?: RunFacts;
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
  waiting: Claim[];
  pools: Pool<Claim>[];
  /** The number of its last grant. */
  last: number;
}

export interface Place {
  /** 1: the next. Turns and other limits may let others begin before. */
  position: number;
  waiting_for: { rule: string; key: string; reason: Reason }[];
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

export class Book {
  readonly #claims = new Map<string, Claim>();
  readonly #pools = new Map<string, Pool<Claim>>();
  readonly #lanes = new Map<string, Lane>();
  /** The lanes with a claim that waits for slots of several rules. */
  readonly #several = new Set<Lane>();
  /** The lanes with a claim that waits, by pool. */
  readonly #lanesByPool = new Map<Pool<Claim>, Set<Lane>>();
  #grants = 0;
  #waiting = 0;

  /** `ruleLimits`: the limits of a rule of the workspace; undefined when it is deleted. */
  constructor(private readonly ruleLimits: (rule: string) => Limits | undefined) {}

  get waiting(): number {
    return this.#waiting;
  }

  claim(runId: string): Claim | undefined {
    return this.#claims.get(runId);
  }

  /** All claims: held, waiting and ended. */
  claims(): Iterable<Claim> {
    return this.#claims.values();
  }

  /** Adds a claim as it is: one that waits, or one that was granted or has ended. */
  add(claim: Claim): void {
    this.#claims.set(claim.runId, claim);
    if (claim.granted === undefined) return claim.stopped ? undefined : this.#enqueue(claim);
    this.#count(claim);
    this.#lane(claim).last = this.#grants += 1;
  }

  /** Stops what a new claim replaces, or the claim itself, by `singleton` and `debounce_seconds`. What is stopped. */
  replace(claim: Claim): Claim[] {
    const found = claim.needs.map((need) => {
      const { singleton, debounce_seconds } = this.#limits(need);
      const pool = this.#pool(need);
      const waiting = [...(this.#lanesByPool.get(pool) ?? [])].flatMap((lane) => lane.waiting);
      const others = [...(singleton || debounce_seconds ? waiting : []), ...(singleton ? pool.holders : [])];
      return { singleton, others: others.filter((one) => one !== claim) };
    });
    const loses = found.some(({ singleton, others }) => singleton === "first" && others.length > 0);
    const stopped = loses ? [claim] : [...new Set(found.flatMap(({ others }) => others))];
    for (const one of stopped.filter((other) => !other.stopped)) {
      if (one.granted === undefined) this.#dequeue(one);
      one.stopped = true;
    }
    return stopped;
  }

  /** A claim that waits needs these slots, too. */
  need(claim: Claim, more: Need[]): void {
    this.#dequeue(claim);
    claim.needs = [...claim.needs, ...more];
    this.#enqueue(claim);
  }

  /** The claim's run has ended: its slots are free, its place is gone. False when limits a minute still count it. */
  end(claim: Claim, now: number, tokens = 0): boolean {
    const held = claim.granted !== undefined && claim.ended === undefined;
    if (claim.granted === undefined && !claim.stopped) this.#dequeue(claim);
    if (held) for (const pool of this.#listPools(claim)) pool.holders.delete(claim);
    Object.assign(claim, { ended: now, tokens });
    if (held) this.#countTokens(claim);
    const kept = held && claim.needs.some((need) => isByMinute(this.#limits(need)));
    if (!kept) this.#claims.delete(claim.runId);
    return !kept;
  }

  /**
   * Makes a run's id free for the claim of another run. Limits a minute still count the claim that had it. The new name of that
   * claim; undefined when there is none.
   */
  rename(runId: string): string | undefined {
    const claim = this.#claims.get(runId);
    if (!claim) return undefined;
    this.#claims.delete(runId);
    claim.runId = `${runId} ${claim.created}`;
    this.#claims.set(claim.runId, claim);
    return claim.runId;
  }

  /**
   * Grants what may begin now, in order, and returns it. `near`: only claims that share a slot with this one can have become
   * free; all are tried without it.
   */
  grant(now: number, near?: Claim): Claim[] {
    const pools = near ? this.#listPools(near) : [];
    const lanes = near
      ? new Set(pools.flatMap((pool) => [...(this.#lanesByPool.get(pool) ?? [])]))
      : this.#lanes.values();
    const candidates = new Set([...lanes].filter(({ waiting }) => waiting.length > 0));
    const granted: Claim[] = [];
    for (;;) {
      let best: Lane | undefined;
      const first = this.#served(now);
      for (const lane of candidates) {
        if (this.#isBlocked(lane, now, first)) continue;
        if (!best || isBefore(lane, best, now)) best = lane;
      }
      if (!best) return granted;
      const [claim] = best.waiting as [Claim];
      this.#dequeue(claim);
      claim.granted = now;
      best.last = this.#grants += 1;
      this.#count(claim);
      granted.push(claim);
      // What was kept for it is free for others.
      if (first.includes(claim))
        for (const pool of best.pools) for (const lane of this.#lanesByPool.get(pool) ?? []) candidates.add(lane);
    }
  }

  /** When the first claim that has ended is counted no more. */
  get nextPrune(): number | undefined {
    const ends = [...this.#claims.values()].flatMap(({ ended }) => ended ?? []);
    return ends.length === 0 ? undefined : Math.min(...ends) + COUNTED_MS;
  }

  /** Removes lanes and keys that nothing uses, and claims that limits a minute no longer count. The ids of these claims. */
  prune(now: number): string[] {
    const old = [...this.#claims.values()].filter(({ ended = now }) => ended <= now - COUNTED_MS);
    for (const { runId } of old) this.#claims.delete(runId);
    if (this.#lanes.size > MOST_LANES) this.#removeIdle(now);
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
  queue(rule: string | undefined, key: string | undefined, most: number): Claim[] {
    const pools = [...this.#pools.values()].filter(
      (pool) => (rule ?? pool.rule) === pool.rule && (key ?? pool.key) === pool.key,
    );
    const lanes = new Set(pools.flatMap((pool) => [...(this.#lanesByPool.get(pool) ?? [])]));
    const waiting = [...lanes].flatMap((lane) => lane.waiting);
    return waiting.toSorted((a, b) => scoreClaim(a) - scoreClaim(b)).slice(0, most);
  }

  /** Where a claim waits: behind those that have a higher level or are older, of those that need what it waits for. */
  place(claim: Claim, now: number): Place | undefined {
    if (claim.granted !== undefined || claim.stopped) return undefined;
    const first = this.#served(now);
    const reasons = claim.needs.flatMap((need) => {
      const reason = this.#pool(need).blocked(this.#limitsFor(claim, need, first), now, claim.due);
      return reason ? [{ rule: need.rule, key: need.key, reason }] : [];
    });
    const pools = new Set((reasons.length > 0 ? reasons : claim.needs).map((need) => this.#pool(need)));
    const lanes = new Set([...pools].flatMap((pool) => [...(this.#lanesByPool.get(pool) ?? [])]));
    const score = scoreClaim(claim);
    let before = 0;
    for (const { waiting } of lanes) before += waiting.filter((one) => one !== claim && scoreClaim(one) < score).length;
    return { position: before + 1, waiting_for: reasons };
  }

  /** When time alone may free a slot for a claim that waits. Undefined when it cannot. */
  nextFree(now: number): number | undefined {
    let next: number | undefined;
    const first = this.#served(now);
    for (const { waiting } of this.#lanes.values()) {
      const [claim] = waiting;
      if (!claim) continue;
      const at = Math.max(
        ...claim.needs.map((need) => this.#pool(need).freeAt(this.#limitsFor(claim, need, first), now, claim.due)),
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

  #count(claim: Claim): void {
    const { granted = 0, ended, needs } = claim;
    for (const need of needs) {
      const pool = this.#pool(need);
      if (ended === undefined) pool.holders.add(claim);
      if (this.#limits(need).starts_per_minute !== undefined) pool.started(granted);
    }
    this.#countTokens(claim);
  }

  #countTokens({ ended, tokens = 0, needs }: Claim): void {
    if (ended === undefined || tokens === 0) return;
    const limited = needs.filter((need) => this.#limits(need).tokens_per_minute !== undefined);
    for (const need of limited) this.#pool(need).used(ended, tokens);
  }

  #enqueue(claim: Claim): void {
    const lane = this.#lane(claim);
    const score = scoreClaim(claim);
    const place = lane.waiting.findLastIndex((one) => scoreClaim(one) <= score) + 1;
    lane.waiting.splice(place, 0, claim);
    this.#waiting += 1;
    if (lane.pools.length > 1) this.#several.add(lane);
    for (const pool of lane.pools) {
      const lanes = this.#lanesByPool.get(pool) ?? new Set();
      this.#lanesByPool.set(pool, lanes.add(lane));
    }
  }

  #dequeue(claim: Claim): void {
    const lane = this.#lane(claim);
    lane.waiting.splice(lane.waiting.indexOf(claim), 1);
    this.#waiting -= 1;
    if (lane.waiting.length > 0) return;
    this.#several.delete(lane);
    for (const pool of lane.pools) this.#lanesByPool.get(pool)?.delete(lane);
  }

  #isBlocked({ waiting, pools }: Lane, now: number, first: Claim[]): boolean {
    const [claim] = waiting;
    return (
      !claim || claim.needs.some((need, i) => pools[i]?.blocked(this.#limitsFor(claim, need, first), now, claim.due))
    );
  }

  /**
   * The claims that need slots of several rules and have waited to the highest level. One slot of each is kept for them: claims
   * that need only one of these slots would else take them in turn, without an end.
   */
  #served(now: number): Claim[] {
    const highest = [...this.#several].filter((lane) => computeLevel(lane, now) === HIGHEST);
    return highest.flatMap(({ waiting }) => waiting.slice(0, 1)).filter((claim) => !this.#isHeldBack(claim, now));
  }

  /** Whether the claim would not begin if all slots were free. */
  #isHeldBack({ needs, due }: Claim, now: number): boolean {
    const reasons = needs.map((need) => this.#pool(need).blocked(this.#limits(need), now, due));
    return reasons.includes("paused") || reasons.includes("debounce_seconds");
  }

  /** The limits of what the claim needs, less what is kept for claims that are first and older. */
  #limitsFor(claim: Claim, need: Need, first: Claim[]): Limits {
    const limits = this.#limits(need);
    const before = first.filter((one) => scoreClaim(one) < scoreClaim(claim) && needsSlot(one, need));
    return before.length > 0 ? lessSlots(limits, before.length) : limits;
  }

  #limits({ rule, limits }: Need): Limits {
    return limits ?? this.ruleLimits(rule) ?? {};
  }

  #lane({ needs, turn = "" }: Claim): Lane {
    // The limits of a deployment differ between its versions: claims of both wait during a deploy.
    const id = JSON.stringify([needs, turn]);
    let lane = this.#lanes.get(id);
    if (!lane) this.#lanes.set(id, (lane = { waiting: [], pools: needs.map((need) => this.#pool(need)), last: 0 }));
    return lane;
  }

  #listPools({ needs }: Claim): Pool<Claim>[] {
    return needs.map((need) => this.#pool(need));
  }

  #pool({ rule, key }: Pick<Need, "rule" | "key">): Pool<Claim> {
    const id = `${rule} ${key}`;
    let pool = this.#pools.get(id);
    if (!pool) this.#pools.set(id, (pool = new Pool(rule, key)));
    return pool;
  }
}

const isByMinute = ({ starts_per_minute, tokens_per_minute }: Limits): boolean =>
  starts_per_minute !== undefined || tokens_per_minute !== undefined;

const needsSlot = ({ needs }: Claim, { rule, key }: Need): boolean =>
  needs.some((need) => need.rule === rule && need.key === key);

/** What limits leave for others while some slots are kept. How many tokens a run will use is not known, so none are left. */
function lessSlots(limits: Limits, kept: number): Limits {
  const { concurrency, starts_per_minute, tokens_per_minute } = limits;
  return {
    ...limits,
    ...(concurrency !== undefined && { concurrency: concurrency - kept }),
    ...(starts_per_minute !== undefined && { starts_per_minute: starts_per_minute - kept }),
    ...(tokens_per_minute !== undefined && { tokens_per_minute: 0 }),
  };
}

/** The order in a lane: a level of priority counts as much as a minute of waiting. */
const scoreClaim = ({ due, priority }: Claim): number => due - priority * LEVEL_MS;

/** The priority of a lane's first claim, which grows while it waits. */
const computeLevel = ({ waiting: [claim] }: Lane, now: number): number =>
  claim ? Math.min(HIGHEST, Math.floor((now - scoreClaim(claim)) / LEVEL_MS)) : -1;

/** Higher levels first, then the lane whose turn was longest ago, then age. */
function isBefore(a: Lane, b: Lane, now: number): boolean {
  const [levelA, levelB] = [computeLevel(a, now), computeLevel(b, now)];
  if (levelA !== levelB) return levelA > levelB;
  if (a.last !== b.last) return a.last < b.last;
  return scoreClaim(a.waiting[0] as Claim) < scoreClaim(b.waiting[0] as Claim);
}

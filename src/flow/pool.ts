/** What one key of one rule has in use: held slots, and what its last minute counts. */
import type { Limits } from "../limits/flow/claim.ts";

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

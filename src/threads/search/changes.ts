/**
 * The latest changes of a shard's rows, for readers that follow them. Kept in memory: after a restart the list is
 * empty.
 */
import type { ChangesAfter, ThreadChange } from "./rpc.ts";

/** How many changes are kept. A follower that lags further behind misses the older ones. */
const KEPT = 500;
/** Milliseconds that a follower waits in one call. */
const WAIT = 20_000;

export class Changes {
  /** Identifies this instance of the object. */
  readonly #life = crypto.randomUUID();
  #count = 0;
  /** Milliseconds since the epoch. */
  #changedAt: number | undefined;
  #latest: ThreadChange[] = [];
  #followers = new Set<() => void>();

  add(changes: ThreadChange[]): void {
    if (changes.length === 0) return;
    this.#count += changes.length;
    this.#changedAt = Date.now();
    this.#latest = [...this.#latest, ...changes].slice(-KEPT);
    for (const notify of this.#followers) notify();
    this.#followers.clear();
  }

  async after(position: string | undefined): Promise<ChangesAfter> {
    const seen = position === undefined ? this.#count : this.#seen(position);
    if (position !== undefined && seen === this.#count) await this.#next();
    const fresh = Math.min(this.#count - seen, this.#latest.length);
    return {
      position: `${this.#life}:${this.#count}`,
      changes: fresh === 0 ? [] : this.#latest.slice(-fresh),
      unchangedMs: this.#changedAt === undefined ? null : Date.now() - this.#changedAt,
    };
  }

  #seen(position: string): number {
    const [life, count] = position.split(":");
    return life === this.#life ? Number(count) : 0;
  }

  async #next(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      this.#followers.add(resolve);
      timer = setTimeout(() => {
        this.#followers.delete(resolve);
        resolve();
      }, WAIT);
    });
    clearTimeout(timer);
  }
}

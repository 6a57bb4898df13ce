/** What this isolate has just read of D1 or of an object, so that a busy caller costs one read every few seconds, not one a request. */

/** Milliseconds for which an isolate trusts what it has read. Another isolate's change is seen after that. */
const KEPT_MS = 5_000;
const KEPT_MOST = 10_000;

export class RowCache<T> {
  #entries = new Map<string, { value: T; until: number }>();
  #forgotten = 0;

  /**
   * `expires` gives the moment (milliseconds) from which a value is no longer valid, at any age. `keptMs`: for how long a value
   * is trusted.
   */
  constructor(
    private readonly expires: (value: T) => number = () => Infinity,
    private readonly keptMs = KEPT_MS,
  ) {}

  /** The value of this key: cached, or found by `find` and then cached. A missing value is not cached. */
  async get<Found extends T | undefined>(key: string, find: () => Promise<Found>): Promise<T | Found> {
    const now = Date.now();
    const kept = this.#entries.get(key);
    if (kept && kept.until > now) return kept.value;
    const before = this.#forgotten;
    const value = await find();
    // What was read before a change may be what has changed.
    if (value === undefined || before !== this.#forgotten) return value;
    if (this.#entries.size >= KEPT_MOST) this.#entries.clear();
    this.#entries.set(key, { value, until: Math.min(now + this.keptMs, this.expires(value)) });
    return value;
  }

  /** The cached value of this key; undefined when there is none, or it is too old. */
  peek(key: string): T | undefined {
    const kept = this.#entries.get(key);
    return kept && kept.until > Date.now() ? kept.value : undefined;
  }

  /** Clears the cache, or one key of it. Call it when a row changes. Each entry costs one read to load again. */
  forget(key?: string): void {
    this.#forgotten += 1;
    if (key === undefined) this.#entries.clear();
    else this.#entries.delete(key);
  }
}

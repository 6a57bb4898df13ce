/** What this isolate has just read of D1 or of an object, so that a busy caller costs one read every few seconds, not one a request. */

/** Milliseconds for which an isolate trusts what it has read. Another isolate's change is seen after that. */
const KEPT_MS = 5_000;
const MAX_KEPT = 10_000;

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
    if (this.#entries.size >= MAX_KEPT) this.#entries.clear();
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

/**
 * A cache of limited size: above it, the least recently used entries are evicted. All objects of an isolate share most
 * caches, because they share its 128 MB: what an object left that was evicted itself goes first, because it is used no longer.
 */
export class SizedCache<K, V> {
  #entries = new Map<K, { value: V; size: number }>();
  #size = 0;

  /** `limit`: the sum of the entries' sizes, in the unit that `set` is given. An entry larger than `largest` is not kept. */
  constructor(
    private readonly limit: number,
    private readonly largest = limit / 4,
  ) {}

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    // A map keeps the order of insertion: the used entry moves to the end.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Keeps a value in the place of an earlier one. */
  set(key: K, value: V, size: number): void {
    this.delete(key);
    if (size > this.largest) return;
    this.#entries.set(key, { value, size });
    this.#size += size;
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.limit) return;
      this.delete(oldest);
    }
  }

  delete(key: K): void {
    this.#size -= this.#entries.get(key)?.size ?? 0;
    this.#entries.delete(key);
  }
}

/**
 * A cache that all objects of an isolate share, because they share its 128 MB. Above its size limit, the least recently
 * used entries are evicted.
 */
export class SharedCache<T> {
  #entries = new Map<string, { value: T; size: number }>();
  #size = 0;

  /** `limit`: the sum of the entries' sizes, in the unit that `set` is given. */
  constructor(private readonly limit: number) {}

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    // A map keeps the order of insertion: the used entry moves to the end.
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Keeps a value that is not there yet. One larger than a quarter of the cache is not kept. */
  set(key: string, value: T, size: number): void {
    if (size > this.limit / 4) return;
    this.#entries.set(key, { value, size });
    this.#size += size;
    for (const [oldest, entry] of this.#entries) {
      if (this.#size <= this.limit) return;
      this.#entries.delete(oldest);
      this.#size -= entry.size;
    }
  }
}

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

/** Counts by names that come from outside, such as `constructor` and `__proto__`. */
export type Counts = Record<string, number>;

/** Adds to the count of a name, as an own property. */
export function addCount(counts: Counts, name: string, more: number): void {
  const value = (Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0) + more;
  Object.defineProperty(counts, name, { value, configurable: true, enumerable: true, writable: true });
}

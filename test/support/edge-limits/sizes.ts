/** About how many bytes structured clone makes of a value. Streams, functions and stubs count as nothing. */
export function roughBytes(value: unknown, seen = new Set<object>()): number {
  if (typeof value === "string") return WIDE.test(value) ? 2 * value.length : value.length;
  if (typeof value !== "object" || value === null) return 8;
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return value.byteLength;
  if (seen.has(value)) return 8;
  seen.add(value);
  if (value instanceof Map || value instanceof Set || Array.isArray(value)) {
    return [...value].reduce<number>((total, one) => total + roughBytes(one, seen), 8);
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return 8;
  return Object.entries(value).reduce((total, [key, one]) => total + key.length + 4 + roughBytes(one, seen), 8);
}

/** A character that V8 keeps in two bytes. */
const WIDE = /[^\0-\xff]/;

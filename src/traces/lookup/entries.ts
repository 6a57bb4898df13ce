/**
 * The entries of the index of ids: 64 bits each, a hash of an id (40 bits) before the number of a project's day (24 bits). Two
 * ids can have one hash, so a partition is asked whether it has the id.
 */

/** Sorted entries are in the order of their hashes. */
export type Entries = BigUint64Array;

/** The most days that an index numbers. */
export const MAX_DAYS = 2 ** 24;
const DAY_MASK = MAX_DAYS - 1;
const HASH_MASK = ~DAY_MASK >>> 0;

/** The words of entries: of entry i, 2i is the lower one (8 bits of the hash, the day), 2i + 1 the upper one. */
export const wordsOf = ({ buffer, byteOffset, length }: Entries) => new Uint32Array(buffer, byteOffset, length * 2);

/** The hashes of ids, in their order, as entries without a day. */
export function hashIds(ids: string[]): Entries {
  const hashes = new BigUint64Array(ids.length);
  const words = wordsOf(hashes);
  for (const [i, id] of ids.entries()) writeHash(words, i, id);
  return hashes;
}

/** Two multiplicative hashes, mixed as in MurmurHash3: the ids of one millisecond differ in few characters. */
function writeHash(words: Uint32Array, at: number, id: string): void {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < id.length; i++) {
    const code = id.charCodeAt(i);
    a = Math.imul(a ^ code, 2_654_435_761);
    b = Math.imul(b ^ code, 1_597_334_677);
  }
  a = Math.imul(a ^ (a >>> 16), 2_246_822_507) ^ Math.imul(b ^ (b >>> 13), 3_266_489_909);
  b = Math.imul(b ^ (b >>> 16), 2_246_822_507) ^ Math.imul(a ^ (a >>> 13), 3_266_489_909);
  words[2 * at] = b & HASH_MASK;
  words[2 * at + 1] = a;
}

/** The hashes as entries of a day. */
export function withDay(hashes: Entries, day: number): Entries {
  const entries = hashes.slice();
  const words = wordsOf(entries);
  for (let i = 0; i < words.length; i += 2) words[i] = ((words[i] as number) & HASH_MASK) | day;
  return entries;
}

/** All entries, sorted, each once, of the days that are kept. */
export function mergeEntries(parts: Entries[], isKept: (day: number) => boolean): Entries {
  const all = new BigUint64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    all.set(part, end);
    end += part.length;
  }
  all.sort();
  const words = wordsOf(all);
  let kept = 0;
  for (let i = 0; i < all.length; i++) {
    const [low, high] = [words[2 * i] as number, words[2 * i + 1] as number];
    const isSame = kept > 0 && words[2 * kept - 2] === low && words[2 * kept - 1] === high;
    if (isSame || !isKept(low & DAY_MASK)) continue;
    words[2 * kept] = low;
    words[2 * kept + 1] = high;
    kept++;
  }
  return all.slice(0, kept);
}

/** The day of each entry. */
export function* daysOf(entries: Entries): Generator<number> {
  const words = wordsOf(entries);
  for (let i = 0; i < words.length; i += 2) yield (words[i] as number) & DAY_MASK;
}

/** A hash as its two words. */
export interface IdHash {
  low: number;
  high: number;
}

export function* eachHash(hashes: Entries): Generator<IdHash> {
  const words = wordsOf(hashes);
  for (let i = 0; i < words.length; i += 2)
    yield { low: (words[i] as number) & HASH_MASK, high: words[i + 1] as number };
}

/** A hash as one number. */
export const hashKey = ({ low, high }: IdHash): number => high * 256 + (low >>> 24);

/** Adds the days of each hash in entries without an order. */
export function addDaysOf(days: Set<number>[], hashes: IdHash[], parts: Entries[]): void {
  const wanted = Map.groupBy(days.keys(), (i) => hashKey(hashes[i] as IdHash));
  for (const words of parts.map(wordsOf)) {
    for (let i = 0; i < words.length; i += 2) {
      const low = words[i] as number;
      for (const at of wanted.get(hashKey({ low, high: words[i + 1] as number })) ?? []) days[at]?.add(low & DAY_MASK);
    }
  }
}

/** Adds the days of a hash in sorted entries. */
export function addDays(days: Set<number>, entries: Entries, { low, high }: IdHash): void {
  const words = wordsOf(entries);
  const own = low >>> 24;
  let [from, to] = [0, entries.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    const upper = words[2 * middle + 1] as number;
    const isBefore = upper < high >>> 0 || (upper === high >>> 0 && (words[2 * middle] as number) >>> 24 < own);
    if (isBefore) from = middle + 1;
    else to = middle;
  }
  for (; from < entries.length && words[2 * from + 1] === high >>> 0; from++) {
    const lower = words[2 * from] as number;
    if (lower >>> 24 !== own) return;
    days.add(lower & DAY_MASK);
  }
}

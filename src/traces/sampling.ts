/** Sampling of runs by their ids. */

/**
 * Whether a run belongs to the part `rate` of all runs. It depends on the id alone: a repeated look gives the same answer, and the
 * runs of a smaller part are among those of a larger one.
 */
export function isSampled(id: string, rate: number): boolean {
  return rate >= 1 || hashId(id) < rate * 2 ** 32;
}

/** FNV-1a with the last steps of MurmurHash3, which spread ids that differ in one digit. */
function hashId(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

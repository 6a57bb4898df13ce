/** Lists as bound parameters: a statement of D1 takes 100 of them, so a list is one, as JSON. */

/** D1 takes at most 2,000,000 bytes of a bound value. */
const PARAMETER_BYTES = 1_000_000;

/** JSON lists of the items, in their order, each below `PARAMETER_BYTES` unless a single item is larger. */
export function inParameters(items: readonly unknown[]): string[] {
  const lists: string[] = [];
  let list: string[] = [];
  let bytes = 0;
  for (const item of items) {
    const text = JSON.stringify(item);
    const size = Buffer.byteLength(text) + 1;
    if (list.length > 0 && bytes + size > PARAMETER_BYTES) {
      lists.push(`[${list.join(",")}]`);
      [list, bytes] = [[], 0];
    }
    list.push(text);
    bytes += size;
  }
  return list.length > 0 ? [...lists, `[${list.join(",")}]`] : lists;
}

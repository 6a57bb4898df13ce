/** Offset paging as the Agent Server's clients read it: `X-Pagination-Total` and `X-Pagination-Next`. */

/** The item with the selected fields, or with all fields when none are named. */
export function selectFields<T extends object>(item: T, select: readonly string[] | undefined): Partial<T> {
  if (!select) return item;
  const fields = select.filter((field) => Object.hasOwn(item, field)) as (keyof T)[];
  return Object.fromEntries(fields.map((field) => [field, item[field]])) as Partial<T>;
}

/** Ask the store for `limit + 1` rows; this cuts the page and sets whether more exist. */
export function cutPage<T>(rows: T[], limit: number, offset: number): { items: T[]; headers: Record<string, string> } {
  const items = rows.slice(0, limit);
  const end = offset + items.length;
  return rows.length > limit
    ? { items, headers: { "x-pagination-total": String(end + 1), "x-pagination-next": String(end) } }
    : { items, headers: { "x-pagination-total": String(end) } };
}

/** JSON containment in SQLite, as Postgres's `@>`: what metadata and values filters of the Agent Server mean. */
import { type AnyColumn, type SQL, sql, type SQLWrapper } from "drizzle-orm";
import { customType } from "drizzle-orm/sqlite-core";
import type { Database } from "./client.ts";
import { longDigits, parseExact } from "../lib/json.ts";

/** A column of JSON that keeps the digits of integers past 2^53, as `ExactNumber`s. */
export const exactJson = customType<{ data: Record<string, unknown>; driverData: string }>({
  dataType: () => "text",
  toDriver: (value) => JSON.stringify(value),
  fromDriver: (text) => parseExact(text) as Record<string, unknown>,
});

/**
 * A condition: the JSON in `column` contains `filter`. Objects match key by key at any depth, arrays when each element
 * of the filter is contained in some element of the column's array, everything else by type and value.
 * Keys and values are bound parameters (two a leaf): bound the filter's size before (`JsonFilter` in lib/json.ts).
 */
export function contains(column: AnyColumn | SQL, filter: Record<string, unknown>): SQL {
  return members(sql`${column}`, Object.entries(filter), 0);
}

/** A condition: the object in `column` has `key`, and what it holds there contains `value`. */
export function member(column: AnyColumn | SQL, key: string, value: unknown): SQL {
  return members(sql`${column}`, [[key, value]], 0);
}

function members(json: SQL, entries: [string, unknown][], depth: number): SQL {
  const each = sql.raw(`e${depth}`);
  const tests = entries.map(
    ([key, value]) =>
      sql`EXISTS (SELECT 1 FROM json_each(${json}) ${each} WHERE ${each}.key = ${key} AND ${matches(each, value, depth)})`,
  );
  return allTests(tests);
}

/** All of the tests, as a balanced tree: D1 takes expressions of depth 100, and a chain of ANDs has one level a test. */
function allTests(tests: SQL[]): SQL {
  const [only = sql`1`, ...others] = tests;
  if (others.length === 0) return only;
  const half = tests.length >> 1;
  return sql`(${allTests(tests.slice(0, half))} AND ${allTests(tests.slice(half))})`;
}

/** A condition: the entry `each` of `json_each` is this integer, whose digits a bound number would round. */
function isInteger(each: SQL, digits: string): SQL {
  const isStored = fitsInteger(digits)
    ? sql`${each}.value = CAST(${digits} AS INTEGER)`
    : // SQLite reads a longer one as a number with a fraction, and keeps its text.
      sql`${each}.json -> ${each}.fullkey = ${digits}`;
  return sql`${each}.type = 'integer' AND ${isStored}`;
}

/** Whether SQLite has an integer of these digits: 64 bits with a sign. */
export const fitsInteger = (digits: string): boolean => BigInt.asIntN(64, BigInt(digits)) === BigInt(digits);

function matches(each: SQL, value: unknown, depth: number): SQL {
  const digits = longDigits(value);
  if (digits !== undefined) return isInteger(each, digits);
  if (value === null) return sql`${each}.type = 'null'`;
  if (typeof value === "boolean") return sql`${each}.type = ${value ? "true" : "false"}`;
  if (typeof value === "number") return sql`${each}.type IN ('integer', 'real') AND ${each}.value = ${value}`;
  if (typeof value === "string") return sql`${each}.type = 'text' AND ${each}.value = ${value}`;
  if (!Array.isArray(value)) {
    return sql`${each}.type = 'object' AND ${members(sql`${each}.value`, Object.entries(value as object), depth + 1)}`;
  }
  const inner = sql.raw(`e${depth + 1}`);
  const tests = value.map(
    (element) =>
      sql`EXISTS (SELECT 1 FROM json_each(${each}.value) ${inner} WHERE ${matches(inner, element, depth + 1)})`,
  );
  return sql`${each}.type = 'array' AND ${allTests(tests)}`;
}

/** A condition: the column holds one of `values`. One bound parameter however many they are: D1 binds at most 100. */
export function inList(column: AnyColumn, values: (string | number)[]): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`;
}

// Lists as bound parameters: a statement of D1 takes 100 of them, so a list is one, as JSON.

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

// Measures the rows of a list before they are read. 1,000 rows can be larger than an isolate's memory.

/** A column `bytes`: the size of these columns in a row. */
export function bytesColumn(...columns: AnyColumn[]): SQL.Aliased<number> {
  const sizes = columns.map((column) => sql`coalesce(length(CAST(${column} AS BLOB)), 0)`);
  return sql<number>`${sql.join(sizes, sql` + `)}`.as("bytes");
}

/** The sum of `bytes` over the rows of a query that selects `bytesColumn`. */
export async function totalBytes(db: Database, query: SQLWrapper): Promise<number> {
  const row = await db.get<{ total: number | null }>(sql`SELECT sum(bytes) AS total FROM (${query})`);
  return row?.total ?? 0;
}

/** Members that many request shapes share. */
import * as v from "valibot";
import { Problem } from "../lib/problem.ts";
import { suggestName } from "./validate.ts";

/** A member that may be left out. Clients send null for what they leave out, so null reads as absent. */
export const optional = <S extends v.GenericSchema<unknown, unknown>>(schema: S) =>
  v.optional(
    v.pipe(
      v.nullable(schema),
      v.transform((value): v.InferOutput<S> | undefined => value ?? undefined),
    ),
  );

/** A UUID in lower case: its letters' case means nothing (RFC 9562, section 4). */
export const Uuid = v.pipe(v.string(), v.uuid("must be a UUID"), v.toLowerCase());

/** The number of results to skip before a page. Larger numbers are not exact, and SQLite accepts none. */
export const Offset = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(Number.MAX_SAFE_INTEGER));

/** `limit` and `offset` of a list, in a body. */
export const paging = {
  limit: optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1000))),
  offset: optional(Offset),
};

/** A whole number in the query string. */
export const whole = (least: number, most = 999_999_999) =>
  v.pipe(
    v.string(),
    v.regex(/^\d{1,9}$/, "expected a whole number"),
    v.transform(Number),
    v.minValue(least),
    v.maxValue(most),
  );

/** `limit` (when it is left out: `usual`) and `offset` of a list, in the query string. */
export const pagingQuery = (most: number, usual = 100) => ({
  limit: v.optional(whole(1, most), String(usual)),
  offset: v.optional(whole(0), "0"),
});

/** A parameter of the query string that may be repeated. */
export const many = <S extends v.GenericSchema>(item: S) =>
  v.optional(
    v.pipe(
      v.unknown(),
      v.transform((given) => (Array.isArray(given) ? given : [given])),
      v.array(item),
      v.maxLength(100),
    ),
  );

/** A yes or no in the query string, in any spelling that the JavaScript and Python clients send. */
export const Flag = v.pipe(
  v.string(),
  v.regex(/^(true|false|1|0)$/i, "expected true or false"),
  v.transform((text) => /^(true|1)$/i.test(text)),
);

/**
 * The shape of a request that chooses what is read or deleted. A member that is not known is a 422 that names it: if it were
 * ignored, the request would choose more than its sender meant.
 */
export const choosing = <const E extends v.ObjectEntries>(entries: E) =>
  v.strictObject(entries, (issue) => {
    if (issue.expected !== "never") return issue.message;
    const given = issue.path?.at(-1)?.key;
    const meant = typeof given === "string" ? suggestName(given, Object.keys(entries)) : undefined;
    return meant === undefined ? "is not known here" : `is not known here; use ${meant}`;
  });

/** A member that clients can send and that this server does not serve: 501 if it is given. `what` names it. */
export const unserved = (what: string) =>
  optional(
    v.pipe(
      v.unknown(),
      v.check(() => {
        throw new Problem(501, `Weir does not serve ${what}.`);
      }),
    ),
  );

/** A member that clients send and that changes nothing here. */
export const unread = v.optional(v.unknown());

// Shapes that many answers share. Answers are not parsed: the shapes give their types, and describe them in /openapi.json.

/** An id that the server makes. */
export const Id = v.pipe(v.string(), v.uuid());

/** A time as `Date.toISOString` writes it. */
export const Time = v.pipe(v.string(), v.isoTimestamp());

/** A JSON object of any members. */
export const AnyObject = v.record(v.string(), v.unknown());

/** An object that may have other members. */
export const open = <const E extends v.ObjectEntries>(entries: E) => v.objectWithRest(entries, v.unknown());

export const Count = v.pipe(v.number(), v.integer(), v.minValue(0));

/** What was done, in words: the platform's answer to deletions. */
export const ResultMessage = v.object({ message: v.string() });

/** The object, or the members of it that the request selects. */
export const selectable = (whole: Whole) => v.union([whole, partialObject(whole)]);

export const selectableList = (whole: Whole) => v.union([v.array(whole), v.array(partialObject(whole))]);

type Whole = v.GenericSchema & { entries: v.ObjectEntries };

const partialObject = ({ entries }: Whole) => v.partial(v.object(entries));

// Offset paging as the Agent Server's clients read it: `X-Pagination-Total` and `X-Pagination-Next`.

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

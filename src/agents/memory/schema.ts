import * as v from "valibot";
import { maxBytes, PAYLOAD_BYTES } from "../../lib/bytes.ts";
import { isExactNumber, JsonFilter, jsonList, JsonObject } from "../../lib/json.ts";
import { choosing, Flag, optional, paging } from "../../http/shapes.ts";
import { isOperators, OPERATORS } from "./filter.ts";
import { DOT_WITHIN } from "./row.ts";

const label = v.pipe(
  v.string(),
  v.minLength(1, "a namespace label must not be empty"),
  v.maxLength(500),
  v.check((text) => !text.includes(DOT_WITHIN), "a namespace label must not contain the character U+001F"),
);
export const Namespace = v.pipe(v.array(label), v.maxLength(20));
const key = v.pipe(v.string(), v.minLength(1), v.maxLength(1000));

/** An item's name and value. One D1 row holds them together with the searched text (`TEXT_BYTES` in store.ts). */
const item = {
  namespace: v.pipe(Namespace, v.minLength(1, "must have at least one label")),
  key,
  value: v.pipe(JsonObject, maxBytes(PAYLOAD_BYTES)),
};
export const StoredItem = v.object(item);

export const PutItemBody = v.object({
  ...item,
  index: optional(v.union([v.literal(false), v.pipe(v.array(v.pipe(v.string(), v.maxLength(500))), v.maxLength(50))])),
  ttl: optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(60 * 24 * 366 * 10))),
});

/** What a request says of an item. An auth handler may put the first label before an empty namespace. */
export const AskedItem = v.object({ ...PutItemBody.entries, namespace: Namespace });

/** The parameter repeated, or a JSON array: labels as they are. Else labels joined with dots, as the SDK sends them. */
const namespaceQuery = v.pipe(
  v.union([v.string(), v.array(v.string())]),
  v.transform((given) => (Array.isArray(given) ? given : (jsonList(given) ?? given.split(".")))),
  Namespace,
);
export const GetItemQuery = v.object({
  namespace: v.optional(namespaceQuery, []),
  key,
  refresh_ttl: v.optional(Flag),
});

export const DeleteItemBody = choosing({ namespace: v.nullish(Namespace, []), key });

const filter = v.pipe(
  JsonFilter,
  v.check(
    (fields) => Object.values(fields).every((one) => !isOperators(one) || Object.entries(one).every(isKnown)),
    `operators are ${OPERATORS.join(", ")}; $in and $nin take a list, $gt, $gte, $lt and $lte a number or a text`,
  ),
);

function isKnown([operator, operand]: [string, unknown]): boolean {
  if (!(OPERATORS as readonly string[]).includes(operator)) return false;
  if (operator === "$in" || operator === "$nin") return Array.isArray(operand);
  return !/^\$[gl]te?$/.test(operator) || ["number", "string"].includes(typeof operand) || isExactNumber(operand);
}

export const SearchItemsBody = choosing({
  namespace_prefix: Namespace,
  filter: optional(filter),
  ...paging,
  query: optional(v.pipe(v.string(), v.maxLength(10_000))),
  refresh_ttl: optional(v.boolean()),
});

export const ListNamespacesBody = choosing({
  prefix: optional(Namespace),
  suffix: optional(Namespace),
  max_depth: optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  ...paging,
});

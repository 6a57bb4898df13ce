/** What the filter of a project's `auth` lets a user see of the Store. */
import { and, eq, type SQL, sql } from "drizzle-orm";
import * as v from "valibot";
import { contains } from "../../db/conditions.ts";
import { storeItems } from "./table.ts";
import type { Json } from "../../lib/json.ts";
import { toContainment, containsJson, refuseUnknown } from "../../access/users/handlers.ts";
import { isWithin, joinLabels, labelText } from "./row.ts";
import { Namespace } from "./schema.ts";

export interface Visibility {
  /** The labels with which namespaces begin. */
  prefix?: string[];
  /** Labels that namespaces have at any place. */
  labels?: string[];
  namespace?: string[];
  key?: string;
  /** What values contain. */
  value: Json;
}

type Labels = Pick<Visibility, "prefix" | "labels" | "namespace">;

const list = v.pipe(
  v.union([v.string(), v.array(v.string())]),
  v.transform((labels) => [labels].flat()),
  Namespace,
);
const NamespaceRule = v.union([
  v.pipe(
    list,
    v.transform((prefix): Labels => ({ prefix })),
  ),
  v.pipe(
    v.strictObject({ $contains: list }),
    v.transform(({ $contains }): Labels => ({ labels: $contains })),
  ),
  v.pipe(
    v.strictObject({ $eq: list }),
    v.transform(({ $eq }): Labels => ({ namespace: $eq })),
  ),
]);
const KeyRule = v.union([
  v.string(),
  v.pipe(
    v.strictObject({ $eq: v.string() }),
    v.transform(({ $eq }) => $eq),
  ),
]);

/**
 * What a filter says: `namespace` and `key` of an item's name, every other member of its value, as on the Agent Server.
 * @throws Problem 403 for a rule that is not known.
 */
export function parseVisibility({ namespace, key, ...value }: Json): Visibility {
  const labels = v.safeParse(v.optional(NamespaceRule), namespace);
  const name = v.safeParse(v.optional(KeyRule), key);
  if (!labels.success) refuseUnknown({ namespace });
  if (!name.success) refuseUnknown({ key });
  return { ...labels.output, key: name.output, value: toContainment(value) };
}

/** The condition that a user sees the item; undefined when nothing is hidden. */
export function whereVisible(sight: Visibility | undefined): SQL | undefined {
  if (!sight) return undefined;
  const { prefix = [], labels = [], namespace, key, value } = sight;
  return and(
    isWithin(prefix),
    ...labels.map((label) => sql`instr('.' || ${storeItems.namespace}, ${`.${labelText(label)}.`}) > 0`),
    namespace && eq(storeItems.namespace, joinLabels(namespace)),
    key === undefined ? undefined : eq(storeItems.key, key),
    Object.keys(value).length === 0 ? undefined : contains(storeItems.value, value),
  );
}

/** The same for an item in memory. */
export function isVisible(sight: Visibility, item: { namespace: string[]; key: string; value: Json }): boolean {
  const { prefix = [], labels = [], namespace = item.namespace, key = item.key, value } = sight;
  return (
    joinLabels(item.namespace).startsWith(joinLabels(prefix)) &&
    labels.every((label) => item.namespace.includes(label)) &&
    joinLabels(namespace) === joinLabels(item.namespace) &&
    key === item.key &&
    containsJson(item.value, value)
  );
}

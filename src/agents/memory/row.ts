/** An item of the Store: as a row of D1, and on the wire. */
import { and, eq, gt, gte, isNull, lt, or, type SQL } from "drizzle-orm";
import { storeItems } from "./table.ts";
import { openJson, openListed, type Ring } from "../../access/encryption/ring.ts";
import type { Item } from "./wire.ts";

export { Item, FoundItem } from "./wire.ts";

export type ItemRow = typeof storeItems.$inferSelect;

/** A condition: the item's time is not over. */
export function isUnexpired(): SQL | undefined {
  return or(isNull(storeItems.expiresAt), gt(storeItems.expiresAt, Date.now()));
}

export function isItem(workspaceId: string, namespace: string[], key: string): SQL | undefined {
  return and(
    eq(storeItems.workspaceId, workspaceId),
    eq(storeItems.namespace, joinLabels(namespace)),
    eq(storeItems.key, keyText(key)),
  );
}

/** A condition: the namespace begins with these labels. */
export function isUnder(workspaceId: string, prefix: string[]): SQL | undefined {
  return and(eq(storeItems.workspaceId, workspaceId), isWithin(prefix));
}

/** The same, in any workspace; undefined for no labels. */
export function isWithin(prefix: string[]): SQL | undefined {
  if (prefix.length === 0) return undefined;
  const from = joinLabels(prefix);
  // "/" is the character after ".": the range holds what starts with the prefix.
  return and(gte(storeItems.namespace, from), lt(storeItems.namespace, `${from.slice(0, -1)}/`));
}

/** Replaces a dot within a label in the column. No label contains it (schema.ts). */
export const DOT_WITHIN = "\u001f";

/** The labels as the column has them: each followed by a dot. */
export function joinLabels(namespace: string[]): string {
  return namespace.map((label) => `${labelText(label)}.`).join("");
}

/** A label as the column has it. */
export const labelText = (label: string): string => label.toWellFormed().replaceAll(".", DOT_WITHIN);

/** A key as the column has it. A database does not keep half of a surrogate pair, and a sealed value is bound to its key. */
export const keyText = (key: string): string => key.toWellFormed();

export function splitLabels(namespace: string): string[] {
  return namespace === ""
    ? []
    : namespace
        .slice(0, -1)
        .split(".")
        .map((label) => label.replaceAll(DOT_WITHIN, "."));
}

/** Where an item's value is stored: the namespace as the column has it. */
export const itemContext = (namespace: string, key: string) => ["store", namespace, key];

export function toWireItem(ring: Ring, row: ItemRow): Item {
  return { ...toWireFields(row), value: openJson(ring, row.value, itemContext(row.namespace, row.key)) };
}

/** The item in a list. One whose key is destroyed has no value. */
export function toListedItem(ring: Ring, row: ItemRow): Item {
  const value = openListed(ring, row.value, itemContext(row.namespace, row.key));
  return value ? { ...toWireFields(row), value } : { ...toWireFields(row), value: {}, key_destroyed: true };
}

function toWireFields({ namespace, key, value, createdAt, updatedAt }: ItemRow): Item {
  return {
    namespace: splitLabels(namespace),
    key,
    value,
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
  };
}

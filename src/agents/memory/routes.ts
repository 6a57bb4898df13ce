/** `/store`: long-term memory, by namespace and key. Graphs see the same items as `runtime.store`. */
import type { Json } from "../../lib/json.ts";
import * as v from "valibot";
import type { Principal } from "../../http/principal.ts";
import { Problem } from "../../lib/problem.ts";
import { type Database, database } from "../../db/client.ts";
import type { Ring } from "../../access/encryption/ring.ts";
import { rulesFor } from "../../access/users/handlers.ts";
import {
  Namespace,
  AskedItem,
  DeleteItemBody,
  GetItemQuery,
  ListNamespacesBody,
  PutItemBody,
  SearchItemsBody,
} from "./schema.ts";
import { isVisible, type Visibility, parseVisibility } from "./visibility.ts";
import { toListedItem, FoundItem, Item } from "./row.ts";
import { findItemRow, type PutItem, deleteItem, getItem, namespacesUnder, putItems, refreshesOnRead } from "./store.ts";
import { Hono } from "hono";
import { loadRing, withRing } from "../../access/encryption/keys.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import type { App } from "../../http/context.ts";
import { body, parse, query } from "../../http/validate.ts";
import { createVectorSearch } from "./vectors.ts";
import { literalPrefix, type NamespaceCondition, selectNamespaces } from "./filter.ts";
import { searchItems } from "./search.ts";

// What a user of the deployment's own `Auth` may do in the Store. All other callers may do everything in their workspace.

/**
 * Asks the handler of `store:<action>`. It may change members of `value`, such as the namespace, and give a filter
 * (visibility.ts). 403 when it refuses, or returns an invalid namespace.
 */
export async function authorizeItem<V extends { namespace: string[] }>(
  principal: Principal,
  action: "get" | "put" | "delete" | "search" | "list_namespaces",
  value: V,
): Promise<{ value: V; filter: Visibility | undefined }> {
  const asked: Json = { ...value };
  const rules = await rulesFor(principal, "store", action, asked);
  const namespace = v.safeParse(Namespace, asked.namespace);
  if (!namespace.success) throw new Problem(403, "Not allowed: the auth handler left no namespace of the Store.");
  return { value: { ...(asked as V), namespace: namespace.output }, filter: rules && parseVisibility(rules) };
}

/** Throws unless the user sees what is written, and what it replaces. */
export async function mayReplace(db: Database, ring: Ring, item: PutItem, filter: Visibility): Promise<void> {
  if (!isVisible(filter, item)) {
    throw new Problem(403, "Not allowed: the item does not match the auth handler's filter.");
  }
  const replaced = await findItemRow(db, ring.workspaceId, item.namespace, item.key);
  if (replaced && !isVisible(filter, toListedItem(ring, replaced))) throw new Problem(409, "This key is taken.");
}

const doc = createDoc("Store");

export const memory = new Hono<App>()
  .put("/items", doc("Write an item", NOTHING), body(AskedItem, { exact: true }), async (c) => {
    const principal = c.get("principal");
    const { value, filter } = await authorizeItem(principal, "put", c.req.valid("json"));
    const item = parse(PutItemBody, value, "body");
    const db = database(c.env.DB);
    const { workspaceId } = principal;
    if (filter) await withRing(c.env, workspaceId, async (ring) => mayReplace(db, ring, item, filter));
    await putItems(db, await loadRing(c.env, workspaceId), [{ ...item, filter }], createVectorSearch(c.env));
    return c.body(null, 204);
  })
  .get("/items", doc("Read an item; null when there is none", v.nullable(Item)), query(GetItemQuery), async (c) => {
    const principal = c.get("principal");
    const { value, filter } = await authorizeItem(principal, "get", c.req.valid("query"));
    const { namespace, key, refresh_ttl = refreshesOnRead() } = value;
    const item = await withRing(c.env, principal.workspaceId, async (ring) =>
      getItem(database(c.env.DB), ring, namespace, key, refresh_ttl, filter),
    );
    return c.json(item ?? null);
  })
  .delete("/items", doc("Delete an item", NOTHING), body(DeleteItemBody), async (c) => {
    const principal = c.get("principal");
    const { value, filter } = await authorizeItem(principal, "delete", c.req.valid("json"));
    await deleteItem(database(c.env.DB), principal.workspaceId, value.namespace, value.key, filter);
    return c.body(null, 204);
  })
  .post(
    "/items/search",
    doc("Search items", v.object({ items: v.array(FoundItem) })),
    body(SearchItemsBody, { exact: true }),
    async (c) => {
      const { namespace_prefix, ...asked } = c.req.valid("json");
      const principal = c.get("principal");
      const { value, filter } = await authorizeItem(principal, "search", { ...asked, namespace: namespace_prefix });
      const { namespace: prefix, ...changed } = value;
      const { refresh_ttl: refreshTtl = refreshesOnRead(), ...rest } = parse(
        SearchItemsBody,
        { ...changed, namespace_prefix: prefix },
        "body",
      );
      const search = {
        ...rest,
        prefix,
        refreshTtl,
        limit: rest.limit ?? 10,
        offset: rest.offset ?? 0,
        sight: filter,
      };
      const items = await withRing(c.env, principal.workspaceId, async (ring) =>
        searchItems(database(c.env.DB), ring, search, createVectorSearch(c.env)),
      );
      return c.json({ items });
    },
  )
  .post(
    "/namespaces",
    doc("List namespaces", v.object({ namespaces: v.array(v.array(v.string())) })),
    body(ListNamespacesBody),
    async (c) => {
      const { prefix: given, ...asked } = c.req.valid("json");
      const principal = c.get("principal");
      const { value, filter } = await authorizeItem(principal, "list_namespaces", { ...asked, namespace: given ?? [] });
      const { namespace: prefix, suffix, max_depth: maxDepth, limit = 100, offset = 0 } = value;
      const conditions: NamespaceCondition[] = [
        ...(prefix.length > 0
          ? [{ matchType: "prefix" as const, path: prefix, literal: principal.user !== undefined }]
          : []),
        ...(suffix ? [{ matchType: "suffix" as const, path: suffix }] : []),
      ];
      const db = database(c.env.DB);
      const all = await namespacesUnder(db, principal.workspaceId, literalPrefix(conditions), filter);
      return c.json({ namespaces: selectNamespaces(all, { conditions, maxDepth, limit, offset }) });
    },
  );

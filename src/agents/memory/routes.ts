/** `/store`: long-term memory, by namespace and key. Graphs see the same items as `runtime.store`. */
import { Hono } from "hono";
import * as v from "valibot";
import { database } from "../../db/client.ts";
import { loadRing, withRing } from "../../access/encryption/keys.ts";
import { createDoc, NOTHING } from "../../http/route.ts";
import type { App } from "../../http/context.ts";
import { body, parse, query } from "../../http/validate.ts";
import { mayReplace, authorizeItem } from "../../memory/allowed.ts";
import { createMeaning } from "../../memory/deployed.ts";
import { literalPrefix, type NamespaceCondition, selectNamespaces } from "../../memory/namespaces.ts";
import { AskedItem, DeleteItemBody, GetItemQuery, ListNamespacesBody, PutItemBody, SearchItemsBody } from "./schema.ts";
import { FoundItem, Item } from "./row.ts";
import { searchItems } from "./search.ts";
import { deleteItem, getItem, namespacesUnder, putItems, refreshesOnRead } from "./store.ts";

const doc = createDoc("Store");

export const memory = new Hono<App>()
  .put("/items", doc("Write an item", NOTHING), body(AskedItem), async (c) => {
    const principal = c.get("principal");
    const { value, filter } = await authorizeItem(principal, "put", c.req.valid("json"));
    const item = parse(PutItemBody, value, "body");
    const db = database(c.env.DB);
    const { workspaceId } = principal;
    if (filter) await withRing(c.env, workspaceId, async (ring) => mayReplace(db, ring, item, filter));
    await putItems(db, await loadRing(c.env, workspaceId), [{ ...item, filter }], createMeaning(c.env));
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
    body(SearchItemsBody),
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
        searchItems(database(c.env.DB), ring, search, createMeaning(c.env)),
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

/** `/store`: long-term memory, by namespace and key. Graphs see the same items as `runtime.store`. */
import { Hono } from "hono";
import { database } from "../db/client.ts";
import { documented } from "../http/documented.ts";
import type { App } from "../http/types.ts";
import { body, query } from "../http/validate.ts";
import { embeddingsOf } from "./embeddings.ts";
import { literalPrefix, type NamespaceCondition, selectNamespaces } from "./namespaces.ts";
import { DeleteItemBody, GetItemQuery, ListNamespacesBody, PutItemBody, SearchItemsBody } from "./schema.ts";
import { searchItems } from "./search-store.ts";
import { deleteItem, getItem, namespacesUnder, putItems } from "./store.ts";

const doc = documented("Store");

export const memory = new Hono<App>()
  .put("/items", doc("Write an item"), body(PutItemBody), async (c) => {
    const { workspaceId } = c.get("principal");
    await putItems(database(c.env.DB), workspaceId, [c.req.valid("json")], embeddingsOf(c.env));
    return c.body(null, 204);
  })
  .get("/items", doc("Read an item; null when there is none"), query(GetItemQuery), async (c) => {
    const { namespace, key, refresh_ttl } = c.req.valid("query");
    const { workspaceId } = c.get("principal");
    return c.json((await getItem(database(c.env.DB), workspaceId, namespace, key, refresh_ttl)) ?? null);
  })
  .delete("/items", doc("Delete an item"), body(DeleteItemBody), async (c) => {
    const { namespace, key } = c.req.valid("json");
    await deleteItem(database(c.env.DB), c.get("principal").workspaceId, namespace, key);
    return c.body(null, 204);
  })
  .post("/items/search", doc("Search items"), body(SearchItemsBody), async (c) => {
    const { namespace_prefix: prefix, refresh_ttl: refreshTtl = true, ...rest } = c.req.valid("json");
    const search = { prefix, refreshTtl, ...rest, limit: rest.limit ?? 10, offset: rest.offset ?? 0 };
    const { workspaceId } = c.get("principal");
    return c.json({ items: await searchItems(database(c.env.DB), workspaceId, search, embeddingsOf(c.env)) });
  })
  .post("/namespaces", doc("List namespaces"), body(ListNamespacesBody), async (c) => {
    const { prefix, suffix, max_depth: maxDepth, limit = 100, offset = 0 } = c.req.valid("json");
    const conditions: NamespaceCondition[] = [
      ...(prefix ? [{ matchType: "prefix" as const, path: prefix }] : []),
      ...(suffix ? [{ matchType: "suffix" as const, path: suffix }] : []),
    ];
    const all = await namespacesUnder(database(c.env.DB), c.get("principal").workspaceId, literalPrefix(conditions));
    return c.json({ namespaces: selectNamespaces(all, { conditions, maxDepth, limit, offset }) });
  });

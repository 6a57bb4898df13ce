/** What a user of the deployment's own `Auth` may do in the Store. All other callers may do everything in their workspace. */
import type { Json } from "../lib/json.ts";
import * as v from "valibot";
import type { Principal } from "../http/principal.ts";
import { Problem } from "../lib/problem.ts";
import type { Database } from "../db/client.ts";
import type { Ring } from "../access/encryption/ring.ts";
import { rulesFor } from "../access/users/handlers.ts";
import { Namespace } from "../agents/memory/schema.ts";
import { isVisible, type Sight, parseSight } from "../agents/memory/visibility.ts";
import { toListed } from "../agents/memory/row.ts";
import { findRow, type PutItem } from "../agents/memory/store.ts";

/**
 * Asks the handler of `store:<action>`. It may change members of `value`, such as the namespace, and give a filter
 * (sight.ts). 403 when it refuses, or returns an invalid namespace.
 */
export async function authorizeItem<V extends { namespace: string[] }>(
  principal: Principal,
  action: "get" | "put" | "delete" | "search" | "list_namespaces",
  value: V,
): Promise<{ value: V; filter: Sight | undefined }> {
  const asked: Json = { ...value };
  const rules = await rulesFor(principal, "store", action, asked);
  const namespace = v.safeParse(Namespace, asked.namespace);
  if (!namespace.success) throw new Problem(403, "Not allowed: the auth handler left no namespace of the Store.");
  return { value: { ...(asked as V), namespace: namespace.output }, filter: rules && parseSight(rules) };
}

/** Throws unless the user sees what is written, and what it replaces. */
export async function mayReplace(db: Database, ring: Ring, item: PutItem, filter: Sight): Promise<void> {
  if (!isVisible(filter, item)) {
    throw new Problem(403, "Not allowed: the item does not match the auth handler's filter.");
  }
  const replaced = await findRow(db, ring.workspaceId, item.namespace, item.key);
  if (replaced && !isVisible(filter, toListed(ring, replaced))) throw new Problem(409, "This key is taken.");
}

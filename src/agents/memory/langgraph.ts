/** The Store as LangGraph sees it: `runtime.store` in a node and the HTTP API read and write the same items. */
import {
  BaseStore,
  type GetOperation,
  type Item as LangGraphItem,
  type ListNamespacesOperation,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchOperation,
} from "@langchain/langgraph-checkpoint";
import { type Database, database } from "../../db/client.ts";
import { loadRing, withRing } from "../../access/encryption/keys.ts";
import type { Ring } from "../../access/encryption/ring.ts";
import { parse } from "../../http/validate.ts";
import { toNumbers } from "../../lib/json.ts";
import { createVectorSearch, type VectorSearch } from "./vectors.ts";
import { literalPrefix, selectNamespaces } from "./filter.ts";
import type { Item } from "./row.ts";
import { StoredItem } from "./schema.ts";
import { searchItems } from "./search.ts";
import { deleteItem, getItem, namespacesUnder, type PutItem, putItems, refreshesOnRead } from "./store.ts";

export function storeFor(env: Env, workspaceId: string): BaseStore {
  return new D1Store(env, database(env.DB), workspaceId, createVectorSearch(env));
}

class D1Store extends BaseStore {
  constructor(
    private readonly env: Env,
    private readonly db: Database,
    private readonly workspaceId: string,
    private readonly meaning: VectorSearch | undefined,
  ) {
    super();
  }

  /** Reads see what was there before the batch's writes; writes land in one transaction, the last one of a key wins. */
  async batch<Op extends readonly Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const results = await Promise.all(operations.map((operation) => this.read(operation)));
    const puts = operations.filter((operation): operation is PutOperation => "value" in operation);
    const items = puts.filter((put): put is PutOperation & { value: PutItem["value"] } => put.value !== null);
    for (const item of items) parse(StoredItem, item, "item");
    if (items.length > 0) await putItems(this.db, await loadRing(this.env, this.workspaceId), items, this.meaning);
    for (const { namespace, key, value } of puts) {
      if (value === null) await deleteItem(this.db, this.workspaceId, namespace, key);
    }
    return results as OperationResults<Op>;
  }

  private async read(operation: Operation): Promise<unknown> {
    if ("value" in operation) return null;
    if ("namespacePrefix" in operation) return this.searchItems(operation);
    if ("key" in operation) return this.getItem(operation);
    return this.listAll(operation);
  }

  private async getItem({ namespace, key }: GetOperation): Promise<LangGraphItem | null> {
    const item = await this.unsealing(async (ring) => getItem(this.db, ring, namespace, key, refreshesOnRead()));
    return item ? forLangGraph(item) : null;
  }

  private async searchItems({ namespacePrefix, filter, limit = 10, offset = 0, query }: SearchOperation) {
    const search = { prefix: namespacePrefix, filter, limit, offset, query, refreshTtl: refreshesOnRead() };
    const items = await this.unsealing(async (ring) => searchItems(this.db, ring, search, this.meaning));
    return items.map((item) => ({ ...forLangGraph(item), score: item.score }));
  }

  private async unsealing<T>(read: (ring: Ring) => Promise<T>): Promise<T> {
    return withRing(this.env, this.workspaceId, read);
  }

  private async listAll({ matchConditions = [], maxDepth, limit, offset }: ListNamespacesOperation) {
    const all = await namespacesUnder(this.db, this.workspaceId, literalPrefix(matchConditions));
    return selectNamespaces(all, { conditions: matchConditions, maxDepth, limit, offset });
  }
}

function forLangGraph({ namespace, key, value, created_at, updated_at }: Item): LangGraphItem {
  return { namespace, key, value: toNumbers(value), createdAt: new Date(created_at), updatedAt: new Date(updated_at) };
}

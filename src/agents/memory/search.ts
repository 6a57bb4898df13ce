/** Searching the Store: by namespace and value, by words, by meaning. */
import { and, desc, getTableColumns, type SQL, sql } from "drizzle-orm";
import { inList, bytesColumn, totalBytes } from "../../db/conditions.ts";
import type { Database } from "../../db/client.ts";
import { storeItems } from "./table.ts";
import { limitResponse } from "../../lib/bytes.ts";
import { whereFilter, matchAny } from "./filter.ts";
import { type VectorSearch, type VectorQuery, rankItems } from "./vectors.ts";
import type { Ring } from "../../access/encryption/ring.ts";
import { remoteProblem } from "../../lib/problem.ts";
import { isUnexpired, isUnder, type Item, type ItemRow, toListedItem } from "./row.ts";
import { whereVisible, type Visibility } from "./visibility.ts";
import { refresh } from "./store.ts";

export interface ItemSearch {
  prefix: string[];
  filter?: Record<string, unknown>;
  query?: string;
  limit: number;
  offset: number;
  refreshTtl: boolean;
  /** What a user sees. */
  sight?: Visibility;
}

const BYTES = bytesColumn(storeItems.value, storeItems.text);

/**
 * Items under a namespace prefix: newest change first, or, with a `query`, best match first, with a score. The query is
 * matched by meaning when `meaning` is given, by words (FTS5, bm25) otherwise.
 */
export async function searchItems(
  db: Database,
  ring: Ring,
  search: ItemSearch,
  meaning?: VectorSearch,
): Promise<(Item & { score?: number })[]> {
  const { workspaceId } = ring;
  if (ring.isOn && (search.query || Object.keys(search.filter ?? {}).length > 0)) throw refuseSearch();
  const where = and(
    isUnder(workspaceId, search.prefix),
    isUnexpired(),
    whereFilter(storeItems.value, search.filter ?? {}),
    whereVisible(search.sight),
  );
  const rows = await findItems(db, workspaceId, where, search, meaning);
  if (search.refreshTtl) await refresh(db, rows);
  return rows.map(({ score, ...row }) => ({ ...toListedItem(ring, row), ...(score === undefined ? {} : { score }) }));
}

/** 422: an answer without the encrypted items would look complete. */
const refuseSearch = () =>
  remoteProblem(
    422,
    "This workspace encrypts the items of the Store, so they cannot be searched by query or filter. List them by namespace.",
  );

type FoundRow = ItemRow & { score?: number };

async function findItems(
  db: Database,
  workspaceId: string,
  where: SQL | undefined,
  { query, limit, offset }: ItemSearch,
  meaning?: VectorSearch,
): Promise<FoundRow[]> {
  const match = query && matchAny(query);
  if (query && meaning) return searchVectors(db, { workspaceId, where, query, limit, offset }, meaning);
  if (match) return searchWords(db, where, `workspace_id : "${workspaceId}" AND text : (${match})`, { limit, offset });
  const order = [desc(storeItems.updatedAt), desc(storeItems.id)];
  await limitResponse(limit, () => {
    const page = db
      .select({ bytes: BYTES })
      .from(storeItems)
      .where(where)
      .orderBy(...order);
    return totalBytes(db, page.limit(limit).offset(offset));
  });
  const page = db
    .select()
    .from(storeItems)
    .where(where)
    .orderBy(...order);
  return page.limit(limit).offset(offset).all();
}

async function searchWords(
  db: Database,
  where: SQL | undefined,
  match: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<FoundRow[]> {
  const score = sql<number>`-bm25(store_text, 0.0, 1.0)`;
  const joined = sql`store_text.rowid = ${storeItems.id}`;
  const matching = and(sql`store_text MATCH ${match}`, where);
  const order = [desc(score), desc(storeItems.updatedAt)];
  await limitResponse(limit, () => {
    const page = db
      .select({ bytes: BYTES })
      .from(storeItems)
      .innerJoin(sql`store_text`, joined)
      .where(matching);
    return totalBytes(
      db,
      page
        .orderBy(...order)
        .limit(limit)
        .offset(offset),
    );
  });
  const page = db
    .select({ ...getTableColumns(storeItems), score })
    .from(storeItems)
    .innerJoin(sql`store_text`, joined)
    .where(matching)
    .orderBy(...order);
  return page.limit(limit).offset(offset).all();
}

async function searchVectors(
  db: Database,
  { offset, limit, ...search }: Omit<VectorQuery, "wanted"> & { limit: number; offset: number },
  meaning: VectorSearch,
): Promise<FoundRow[]> {
  const all = await rankItems(db, { ...search, wanted: offset + limit }, meaning);
  const page = all.slice(offset, offset + limit);
  const ids = page.map(({ id }) => id);
  const these = inList(storeItems.id, ids);
  await limitResponse(ids.length, () => totalBytes(db, db.select({ bytes: BYTES }).from(storeItems).where(these)));
  const rows = await db.select().from(storeItems).where(these).all();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return page.flatMap(({ id, score }) => {
    const row = byId.get(id);
    return row ? [{ ...row, score }] : [];
  });
}

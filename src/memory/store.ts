import {
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import { among } from "../db/among.ts";
import type { Database } from "../db/client.ts";
import { storeItems, storeVectors } from "../db/schema.ts";
import { passes } from "./filter.ts";
import { type Index, matchAny, textsOf } from "./text.ts";
import { decodeVector, type Embed, encodeVector, nearest } from "./vectors.ts";

type Json = Record<string, unknown>;
type Row = typeof storeItems.$inferSelect;

/** An item as it stands on the wire. */
export interface Item {
  namespace: string[];
  key: string;
  value: Json;
  created_at: string;
  updated_at: string;
}

export interface PutItem {
  namespace: string[];
  key: string;
  value: Json;
  index?: Index;
  /** Minutes until the item is gone; absent: it stays. */
  ttl?: number;
}

export interface ItemSearch {
  prefix: string[];
  filter?: Json;
  query?: string;
  limit: number;
  offset: number;
  refreshTtl: boolean;
}

const MINUTE = 60_000;
/** Vectors read in one query: about 4 MB at 1,536 dimensions. */
const VECTOR_PAGE = 500;
/** Most vectors that one semantic search compares with. */
const VECTORS = 20_000;

/** Writes the items in one transaction, replacing what has the same namespace and key. */
export async function putItems(db: Database, workspaceId: string, items: PutItem[], embed?: Embed): Promise<void> {
  const texts = items.map(({ value, index }) => textsOf(value, index));
  const vectors = embed ? await embedEach(texts, embed) : [];
  const statements = items.flatMap((item, n) => [
    upsert(db, workspaceId, item, texts[n] ?? []),
    ...vectorStatements(db, workspaceId, item, vectors[n]),
  ]);
  const [first, ...rest] = statements;
  if (first) await db.batch([first, ...rest]);
}

/** The item, or undefined when there is none or its time is over. */
export async function getItem(
  db: Database,
  workspaceId: string,
  namespace: string[],
  key: string,
  refreshTtl: boolean,
): Promise<Item | undefined> {
  const row = await db
    .select()
    .from(storeItems)
    .where(and(isItem(workspaceId, namespace, key), alive()))
    .get();
  if (row && refreshTtl) await refresh(db, [row]);
  return row && shown(row);
}

export async function deleteItem(db: Database, workspaceId: string, namespace: string[], key: string): Promise<void> {
  await db.delete(storeItems).where(isItem(workspaceId, namespace, key));
}

/**
 * Items under a namespace prefix: newest change first, or, with a `query`, best match first, with a score. The query is
 * matched by meaning when `embed` is given, by words (FTS5, bm25) otherwise.
 */
export async function searchItems(
  db: Database,
  workspaceId: string,
  search: ItemSearch,
  embed?: Embed,
): Promise<(Item & { score?: number })[]> {
  const where = and(isUnder(workspaceId, search.prefix), alive(), passes(storeItems.value, search.filter ?? {}));
  const rows = await found(db, workspaceId, where, search, embed);
  if (search.refreshTtl) await refresh(db, rows);
  return rows.map(({ score, ...row }) => ({ ...shown(row), ...(score === undefined ? {} : { score }) }));
}

/** The namespaces under a prefix that hold an item, in order. */
export async function namespacesUnder(db: Database, workspaceId: string, prefix: string[]): Promise<string[][]> {
  const rows = await db
    .selectDistinct({ namespace: storeItems.namespace })
    .from(storeItems)
    .where(and(isUnder(workspaceId, prefix), alive()))
    .orderBy(asc(storeItems.namespace))
    .all();
  return rows.map(({ namespace }) => labels(namespace));
}

/** Deletes items whose time is over, `limit` at most; how many they were. */
export async function deleteExpired(db: Database, now: number, limit = 1000): Promise<number> {
  const due = db
    .select({ id: storeItems.id })
    .from(storeItems)
    .where(and(isNotNull(storeItems.expiresAt), lte(storeItems.expiresAt, now)))
    .limit(limit);
  const gone = await db.delete(storeItems).where(inArray(storeItems.id, due)).returning({ id: storeItems.id });
  return gone.length;
}

export async function countItems(db: Database, workspaceId: string): Promise<number> {
  const row = await db
    .select({ n: count() })
    .from(storeItems)
    .where(and(eq(storeItems.workspaceId, workspaceId), alive()))
    .get();
  return row?.n ?? 0;
}

/** Deletes every item of the workspace. */
export async function deleteAllItems(db: Database, workspaceId: string): Promise<void> {
  await db.delete(storeItems).where(eq(storeItems.workspaceId, workspaceId));
}

function upsert(db: Database, workspaceId: string, { namespace, key, value, ttl }: PutItem, texts: string[]) {
  const now = Date.now();
  const change = {
    value,
    text: texts.length > 0 ? texts.join("\n") : null,
    ttlMinutes: ttl ?? null,
    expiresAt: ttl === undefined ? null : now + ttl * MINUTE,
    updatedAt: now,
  };
  return db
    .insert(storeItems)
    .values({ workspaceId, namespace: joined(namespace), key, createdAt: now, ...change })
    .onConflictDoUpdate({ target: [storeItems.workspaceId, storeItems.namespace, storeItems.key], set: change });
}

function vectorStatements(db: Database, workspaceId: string, item: PutItem, vectors: number[][] | undefined) {
  if (!vectors) return [];
  const id = db
    .select({ id: storeItems.id })
    .from(storeItems)
    .where(isItem(workspaceId, item.namespace, item.key));
  return [
    db.delete(storeVectors).where(inArray(storeVectors.itemId, id)),
    ...vectors.map((vector) => db.insert(storeVectors).values({ itemId: sql`(${id})`, vector: encodeVector(vector) })),
  ];
}

async function embedEach(texts: string[][], embed: Embed): Promise<number[][][]> {
  const flat = texts.flat();
  const vectors = flat.length > 0 ? await embed(flat) : [];
  let next = 0;
  return texts.map((own) => vectors.slice(next, (next += own.length)));
}

type Found = Row & { score?: number };

async function found(
  db: Database,
  workspaceId: string,
  where: SQL | undefined,
  { query, limit, offset }: ItemSearch,
  embed?: Embed,
): Promise<Found[]> {
  const match = query && matchAny(query);
  if (query && embed) return byMeaning(db, where, { query, limit, offset }, embed);
  if (match) return byWords(db, where, `workspace_id : "${workspaceId}" AND text : (${match})`, { limit, offset });
  return db
    .select()
    .from(storeItems)
    .where(where)
    .orderBy(desc(storeItems.updatedAt), desc(storeItems.id))
    .limit(limit)
    .offset(offset)
    .all();
}

async function byWords(
  db: Database,
  where: SQL | undefined,
  match: string,
  { limit, offset }: { limit: number; offset: number },
): Promise<Found[]> {
  const score = sql<number>`-bm25(store_text, 0.0, 1.0)`;
  return db
    .select({ ...getTableColumns(storeItems), score })
    .from(storeItems)
    .innerJoin(sql`store_text`, sql`store_text.rowid = ${storeItems.id}`)
    .where(and(sql`store_text MATCH ${match}`, where))
    .orderBy(desc(score), desc(storeItems.updatedAt))
    .limit(limit)
    .offset(offset)
    .all();
}

async function byMeaning(
  db: Database,
  where: SQL | undefined,
  { query, limit, offset }: { query: string; limit: number; offset: number },
  embed: Embed,
): Promise<Found[]> {
  const [target] = await embed([query]);
  const best = nearest(target ?? []);
  let after = 0;
  for (let read = 0; read < VECTORS; read += VECTOR_PAGE) {
    const page = await db
      .select({ rowid: sql<number>`${storeVectors}.rowid`, id: storeVectors.itemId, vector: storeVectors.vector })
      .from(storeVectors)
      .innerJoin(storeItems, eq(storeItems.id, storeVectors.itemId))
      .where(and(gt(sql`${storeVectors}.rowid`, after), where))
      .orderBy(sql`${storeVectors}.rowid`)
      .limit(VECTOR_PAGE)
      .all();
    for (const { id, vector } of page) best.add(id, decodeVector(vector));
    after = page.at(-1)?.rowid ?? after;
    if (page.length < VECTOR_PAGE) break;
  }
  const ranked = best.ranked().slice(offset, offset + limit);
  const ids = ranked.map(({ id }) => id);
  const rows = await db.select().from(storeItems).where(among(storeItems.id, ids)).all();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ranked.flatMap(({ id, score }) => {
    const row = byId.get(id);
    return row ? [{ ...row, score }] : [];
  });
}

/** A read puts the end of an item's time off by its whole TTL. */
async function refresh(db: Database, rows: Row[]): Promise<void> {
  const timed = rows.filter(({ ttlMinutes }) => ttlMinutes !== null).map(({ id }) => id);
  if (timed.length === 0) return;
  await db
    .update(storeItems)
    .set({ expiresAt: sql`${Date.now()} + ${storeItems.ttlMinutes} * ${MINUTE}` })
    .where(among(storeItems.id, timed));
}

function alive(): SQL | undefined {
  return or(isNull(storeItems.expiresAt), gt(storeItems.expiresAt, Date.now()));
}

function isItem(workspaceId: string, namespace: string[], key: string): SQL | undefined {
  return and(
    eq(storeItems.workspaceId, workspaceId),
    eq(storeItems.namespace, joined(namespace)),
    eq(storeItems.key, key),
  );
}

function isUnder(workspaceId: string, prefix: string[]): SQL | undefined {
  const from = joined(prefix);
  return and(
    eq(storeItems.workspaceId, workspaceId),
    // "/" is the character after ".": the range holds what starts with the prefix.
    prefix.length === 0
      ? undefined
      : and(gte(storeItems.namespace, from), lt(storeItems.namespace, `${from.slice(0, -1)}/`)),
  );
}

function joined(namespace: string[]): string {
  return namespace.map((label) => `${label}.`).join("");
}

function labels(namespace: string): string[] {
  return namespace === "" ? [] : namespace.slice(0, -1).split(".");
}

function shown({ namespace, key, value, createdAt, updatedAt }: Row): Item {
  return {
    namespace: labels(namespace),
    key,
    value,
    created_at: new Date(createdAt).toISOString(),
    updated_at: new Date(updatedAt).toISOString(),
  };
}

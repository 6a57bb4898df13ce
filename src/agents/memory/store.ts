import { and, asc, count, eq, inArray, isNotNull, lte, sql } from "drizzle-orm";
import { settings } from "../../config.ts";
import { inList } from "../../db/conditions.ts";
import type { Database } from "../../db/client.ts";
import { deleteOverdue } from "../../db/writes.ts";
import { storeItems, storeVectors } from "./table.ts";
import { sealJson, type Ring } from "../../access/encryption/ring.ts";
import { cutBytes } from "../../lib/bytes.ts";
import { type VectorSearch, type IndexedItem, indexItems, type Embed, encodeVector } from "./vectors.ts";
import {
  isUnexpired,
  isItem,
  isUnder,
  type Item,
  joinLabels,
  splitLabels,
  itemContext,
  type ItemRow,
  toWireItem,
  keyText,
} from "./row.ts";
import { whereVisible, type Visibility } from "./visibility.ts";
import { type Index, selectTexts } from "./filter.ts";

export interface PutItem {
  namespace: string[];
  key: string;
  value: Record<string, unknown>;
  index?: Index;
  /** Minutes until the item expires; absent: it does not expire. */
  ttl?: number;
  /** What an item that is replaced must match; another item of this key is left as it is. */
  filter?: Visibility;
}

const MINUTE = 60_000;

/** Whether reads extend an item's TTL by default. */
export const refreshesOnRead = (): boolean => settings.store?.ttl?.refresh_on_read ?? true;

/** The most bytes of an item's searched text. Text and value together stay below the 2 MB of a row. */
const TEXT_BYTES = 768 * 1024;
/** The most texts of one item that are embedded. Each is one statement of the transaction. */
const MAX_VECTORS = 100;

/**
 * Writes the items in one transaction, replacing what has the same namespace and key. With a key the values are sealed, and neither
 * their words nor their meaning is indexed.
 */
export async function putItems(db: Database, ring: Ring, items: PutItem[], meant?: VectorSearch): Promise<void> {
  const { workspaceId } = ring;
  const meaning = ring.isOn ? undefined : meant;
  const texts = items.map(({ value, index }) =>
    ring.isOn ? [] : selectTexts(value, index ?? settings.store?.index?.fields),
  );
  const embedded = texts.map((own) => own.slice(0, MAX_VECTORS));
  const vectors = meaning ? await embedEach(embedded, meaning.embed) : [];
  const statements = items.flatMap((item, n) => [
    upsert(db, ring, item, texts[n] ?? []),
    ...vectorStatements(db, workspaceId, item, ring.isOn ? [] : vectors[n]),
  ]);
  const [first, ...rest] = statements;
  if (first) await db.batch([first, ...rest]);
  if (meaning?.index) await indexItems(meaning.index, workspaceId, await writeItems(db, workspaceId, items, vectors));
}

/** The items with the ids of their rows. */
async function writeItems(
  db: Database,
  workspaceId: string,
  items: PutItem[],
  vectors: number[][][],
): Promise<IndexedItem[]> {
  const ids = items.map(({ namespace, key }) =>
    db
      .select({ id: storeItems.id })
      .from(storeItems)
      .where(isItem(workspaceId, namespace, key)),
  );
  const [first, ...rest] = ids;
  const rows = first ? await db.batch([first, ...rest]) : [];
  return rows.flatMap(([row], n) => (row ? [{ id: row.id, vectors: vectors[n] ?? [] }] : []));
}

/** The item, or undefined when there is none or its time is over. */
export async function getItem(
  db: Database,
  ring: Ring,
  namespace: string[],
  key: string,
  refreshTtl: boolean,
  filter?: Visibility,
): Promise<Item | undefined> {
  const row = await findItemRow(db, ring.workspaceId, namespace, key, filter);
  if (row && refreshTtl) await refresh(db, [row]);
  return row && toWireItem(ring, row);
}

/** The item as it is stored. */
export async function findItemRow(
  db: Database,
  workspaceId: string,
  namespace: string[],
  key: string,
  filter?: Visibility,
): Promise<ItemRow | undefined> {
  const where = and(isItem(workspaceId, namespace, key), isUnexpired(), whereVisible(filter));
  return db.select().from(storeItems).where(where).get();
}

export async function deleteItem(
  db: Database,
  workspaceId: string,
  namespace: string[],
  key: string,
  filter?: Visibility,
): Promise<void> {
  await db.delete(storeItems).where(and(isItem(workspaceId, namespace, key), whereVisible(filter)));
}

/** The namespaces under a prefix that hold an item, in order. */
export async function namespacesUnder(
  db: Database,
  workspaceId: string,
  prefix: string[],
  filter?: Visibility,
): Promise<string[][]> {
  const rows = await db
    .selectDistinct({ namespace: storeItems.namespace })
    .from(storeItems)
    .where(and(isUnder(workspaceId, prefix), isUnexpired(), whereVisible(filter)))
    .orderBy(asc(storeItems.namespace))
    .all();
  return rows.map(({ namespace }) => splitLabels(namespace));
}

/** Deletes expired items. Returns their number. */
export async function deleteExpired(db: Database, now: number): Promise<number> {
  return deleteOverdue(db, storeItems, and(isNotNull(storeItems.expiresAt), lte(storeItems.expiresAt, now)));
}

export async function countItems(db: Database, workspaceId: string): Promise<number> {
  const row = await db
    .select({ n: count() })
    .from(storeItems)
    .where(and(eq(storeItems.workspaceId, workspaceId), isUnexpired()))
    .get();
  return row?.n ?? 0;
}

export async function deleteAllItems(db: Database, workspaceId: string): Promise<void> {
  await db.delete(storeItems).where(eq(storeItems.workspaceId, workspaceId));
}

function upsert(db: Database, ring: Ring, { namespace, value, filter, ...item }: PutItem, texts: string[]) {
  const now = Date.now();
  const key = keyText(item.key);
  const ttl = item.ttl ?? settings.store?.ttl?.default_ttl;
  const { workspaceId } = ring;
  const change = {
    value: sealJson(ring, value, itemContext(joinLabels(namespace), key)),
    text: texts.length > 0 ? cutBytes(texts.join("\n"), TEXT_BYTES) : null,
    ttlMinutes: ttl ?? null,
    expiresAt: ttl === undefined ? null : now + ttl * MINUTE,
    updatedAt: now,
  };
  return db
    .insert(storeItems)
    .values({ workspaceId, namespace: joinLabels(namespace), key, createdAt: now, ...change })
    .onConflictDoUpdate({
      target: [storeItems.workspaceId, storeItems.namespace, storeItems.key],
      set: change,
      setWhere: whereVisible(filter),
    });
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

/** A read extends an item's lifetime by its whole TTL. */
export async function refresh(db: Database, rows: ItemRow[]): Promise<void> {
  const timed = rows.filter(({ ttlMinutes }) => ttlMinutes !== null).map(({ id }) => id);
  if (timed.length === 0) return;
  await db
    .update(storeItems)
    .set({ expiresAt: sql`${Date.now()} + ${storeItems.ttlMinutes} * ${MINUTE}` })
    .where(inList(storeItems.id, timed));
}

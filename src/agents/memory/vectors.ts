/** Search by meaning: which items' vectors are nearest to the query's. */
import { and, desc, eq, gt, inArray, or, type SQL, sql } from "drizzle-orm";
import { inList } from "../../db/conditions.ts";
import type { Database } from "../../db/client.ts";
import { storeItems, storeVectors } from "./table.ts";
import { removeVectors, queryIndex, type VectorIndex } from "../../memory/vector-index.ts";
import { decodeVector, type Embed, collectNearest, type Ranked } from "../../memory/vectors.ts";

export interface Meaning {
  embed: Embed;
  /** A Vectorize index, where the deployment has one. */
  index?: VectorIndex;
}

/** Vectors read in one query: about 4 MB at 1,536 dimensions. */
const VECTOR_PAGE = 500;
/** Most vectors that one search compares with. */
const VECTORS = 20_000;
/** The newest vectors, which are compared with in any case: Vectorize returns a write only after some seconds. */
const NEWEST = 500;

export interface MeaningSearch {
  workspaceId: string;
  /** The items that match the request and that the caller may read. */
  where: SQL | undefined;
  query: string;
  /** How many ranks are needed. */
  wanted: number;
}

/**
 * Items by how near they are to the query, best first. With an index, from what it proposes; where that gives fewer than
 * are wanted, and without an index, by comparing with up to 20,000 vectors.
 */
export async function rankItems(db: Database, search: MeaningSearch, { embed, index }: Meaning): Promise<Ranked[]> {
  const [target = []] = await embed([search.query]);
  const quick = index && (await rankFromIndex(db, search, target, index));
  if (quick && quick.length >= search.wanted) return quick;
  return rankByScan(db, search.where, target);
}

const columns = { rowid: sql<number>`${storeVectors}.rowid`, id: storeVectors.itemId, vector: storeVectors.vector };

async function rankFromIndex(
  db: Database,
  { workspaceId, where }: MeaningSearch,
  target: number[],
  index: VectorIndex,
): Promise<Ranked[] | undefined> {
  const byItem = await queryIndex(index, workspaceId, target);
  if (!byItem) return undefined;
  const items = [...byItem.keys()];
  const newest = db
    .select({ rowid: sql`rowid` })
    .from(storeVectors)
    .orderBy(desc(sql`rowid`))
    .limit(NEWEST);
  const these = or(inList(storeVectors.itemId, items), inArray(sql`${storeVectors}.rowid`, newest));
  const rows = await db
    .select(columns)
    .from(storeVectors)
    .innerJoin(storeItems, eq(storeItems.id, storeVectors.itemId))
    .where(and(these, where))
    .all();
  const existing = await db.select({ id: storeItems.id }).from(storeItems).where(inList(storeItems.id, items)).all();
  const known = new Set(existing.map(({ id }) => id));
  await removeVectors(
    index,
    items.filter((item) => !known.has(item)).flatMap((item) => byItem.get(item) ?? []),
  );
  const best = collectNearest(target);
  for (const { id, vector } of rows) best.add(id, decodeVector(vector));
  return best.ranked();
}

async function rankByScan(db: Database, where: SQL | undefined, target: number[]): Promise<Ranked[]> {
  const best = collectNearest(target);
  let after = 0;
  for (let read = 0; read < VECTORS; read += VECTOR_PAGE) {
    const page = await db
      .select(columns)
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
  return best.ranked();
}

/** Search by meaning: which items' vectors are nearest to the query's. */
import { logError } from "../../lib/log.ts";
import { and, desc, eq, gt, inArray, or, type SQL, sql } from "drizzle-orm";
import { inList } from "../../db/conditions.ts";
import type { Database } from "../../db/client.ts";
import { storeItems, storeVectors } from "./table.ts";
import { Lazy, projectExports, type Embedder, type Embeddings } from "../../deployment.ts";

// A Vectorize index beside the vectors in D1. It only proposes items: D1 holds the vectors, decides what a caller sees and
// ranks exactly, so a late, incomplete or unavailable index changes the number of reads, but no answer.

/** The part of the platform's `Vectorize` binding that is used. */
export interface VectorIndex {
  query(vector: number[], options: { topK: number; namespace: string }): Promise<{ matches: { id: string }[] }>;
  upsert(vectors: { id: string; values: number[]; namespace: string }[]): Promise<unknown>;
  deleteByIds(ids: string[]): Promise<unknown>;
}

/** The most that Vectorize gives without values and metadata. */
const TOP_K = 100;
/** The most vectors in one call of a Worker. */
const BATCH = 1_000;

export interface IndexedItem {
  id: number;
  vectors: number[][];
}

const vectorId = (item: number, n: number) => `${item}:${n}`;

/** Writes the vectors of items to the index. The write in D1 is valid also when this fails. */
export async function indexItems(index: VectorIndex, workspaceId: string, items: IndexedItem[]): Promise<void> {
  const all = items.flatMap(({ id, vectors }) =>
    vectors.map((values, n) => ({ id: vectorId(id, n), values, namespace: workspaceId })),
  );
  for (let at = 0; at < all.length; at += BATCH) {
    await logFailure("writing to Vectorize", () => index.upsert(all.slice(at, at + BATCH)));
  }
}

/** The ids of the index's vectors by the item they belong to: those nearest to `target`. Undefined where it does not answer. */
export async function queryIndex(
  index: VectorIndex,
  workspaceId: string,
  target: number[],
): Promise<Map<number, string[]> | undefined> {
  const found = await logFailure("asking Vectorize", () =>
    index.query(target, { topK: TOP_K, namespace: workspaceId }),
  );
  if (!found) return undefined;
  const byItem = new Map<number, string[]>();
  for (const { id } of found.matches) {
    const item = Number.parseInt(id, 10);
    byItem.set(item, [...(byItem.get(item) ?? []), id]);
  }
  return byItem;
}

/** Takes vectors out of the index whose items are deleted or expired: no deletion waits for the index. */
export async function removeVectors(index: VectorIndex, ids: string[]): Promise<void> {
  if (ids.length > 0) await logFailure("deleting from Vectorize", () => index.deleteByIds(ids));
}

async function logFailure<T>(what: string, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    logError(error, { while: what });
    return undefined;
  }
}

// Vectors of texts: kept as base64 of 32-bit floats, compared by cosine.

/** Turns texts into vectors of one length. Given to the Store where graphs are registered. */
export type Embed = (texts: string[]) => Promise<number[][]>;

export function encodeVector(vector: number[]): string {
  return Buffer.from(new Float32Array(vector).buffer).toString("base64");
}

export function decodeVector(text: string): Float32Array {
  return new Float32Array(Uint8Array.from(Buffer.from(text, "base64")).buffer);
}

export interface RankedItem {
  id: number;
  score: number;
}

/** Collects items by how near they are to `target`; an item with several vectors counts by its nearest. */
export function collectNearest(target: number[]): {
  add(id: number, vector: Float32Array): void;
  ranked(): RankedItem[];
} {
  const scores = new Map<number, number>();
  return {
    add(id, vector) {
      const score = cosine(target, vector);
      if (score > (scores.get(id) ?? -Infinity)) scores.set(id, score);
    },
    ranked: () => [...scores].map(([id, score]) => ({ id, score })).sort((a, b) => b.score - a.score || b.id - a.id),
  };
}

function cosine(a: number[], b: Float32Array): number {
  let dot = 0;
  let left = 0;
  let right = 0;
  for (let n = 0; n < a.length; n++) {
    const [x, y] = [a[n] ?? 0, b[n] ?? 0];
    dot += x * y;
    left += x * x;
    right += y * y;
  }
  return left && right ? dot / Math.sqrt(left * right) : 0;
}

export interface VectorSearch {
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

export interface VectorQuery {
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
export async function rankItems(
  db: Database,
  search: VectorQuery,
  { embed, index }: VectorSearch,
): Promise<RankedItem[]> {
  const [target = []] = await embed([search.query]);
  const quick = index && (await rankFromIndex(db, search, target, index));
  if (quick && quick.length >= search.wanted) return quick;
  return rankByScan(db, search.where, target);
}

const columns = { rowid: sql<number>`${storeVectors}.rowid`, id: storeVectors.itemId, vector: storeVectors.vector };

async function rankFromIndex(
  db: Database,
  { workspaceId, where }: VectorQuery,
  target: number[],
  index: VectorIndex,
): Promise<RankedItem[] | undefined> {
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

async function rankByScan(db: Database, where: SQL | undefined, target: number[]): Promise<RankedItem[]> {
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

// Semantic search is on when the deployment has embeddings.

/** What the project exports: a function of texts, or an embeddings object. */
async function ownEmbeddings(lazy: Lazy<Embeddings | Embedder>, texts: string[], env: Env): Promise<number[][]> {
  const own = await lazy.get();
  return typeof own === "function" ? own(texts, env) : own.embedDocuments(texts);
}

/**
 * How the deployment compares meanings: its embeddings, and the Vectorize index that is bound as STORE_INDEX. Undefined where
 * it has no embeddings, and the Store is searched by words.
 */
export function createVectorSearch(env: Env): VectorSearch | undefined {
  const { embeddings } = projectExports;
  if (!embeddings) return undefined;
  const embed: Embed = (texts) =>
    embeddings instanceof Lazy ? ownEmbeddings(embeddings, texts, env) : embeddings(texts, env);
  return { embed, index: env.STORE_INDEX };
}

// Embeddings convert texts to vectors.

/** The most texts in one call of an embeddings model of Workers AI. */
const WORKERS_AI_TEXTS = 100;

/** Classes of packages that have several, by the provider's name in `store.index.embed`. */
const CLASSES: Record<string, string> = { openai: "OpenAIEmbeddings", azure_openai: "AzureOpenAIEmbeddings" };

/**
 * The embeddings of a provider's package: `model` is `<provider>:<model>`, as `store.index.embed` has it. Loaded and made by
 * the first call. Throws when the package has no embeddings.
 */
export function embeddingsFrom(model: string, load: () => Promise<Record<string, unknown>>): Embeddings {
  const at = model.indexOf(":");
  const [provider, name] = [model.slice(0, at), model.slice(at + 1)];
  let made: Embedder | undefined;
  return async (texts) => {
    if (!made) {
      const module = await load();
      const known = CLASSES[provider] ?? Object.keys(module).find((key) => key.endsWith("Embeddings"));
      const Class =
        known === undefined ? undefined : (module[known] as (new (options: object) => Embedder) | undefined);
      if (!Class) throw new Error(`The package of "${provider}" has no embeddings.`);
      made = new Class({ model: name });
    }
    return made.embedDocuments(texts);
  };
}

/** The embeddings of the model of Workers AI that is bound as AI: `store.index.embed` of `workers-ai:@cf/…`. */
export function workersAiEmbeddings(model: string): Embeddings {
  return async (texts, { AI }) => {
    if (!AI) throw new Error(`${model} needs the binding AI. Set "ai": { "binding": "AI" } in wrangler.jsonc.`);
    const all: number[][] = [];
    for (let at = 0; at < texts.length; at += WORKERS_AI_TEXTS) {
      const { data } = (await AI.run(model, { text: texts.slice(at, at + WORKERS_AI_TEXTS) })) as { data: number[][] };
      all.push(...data);
    }
    return all;
  };
}

/** Semantic search is on when the deployment has embeddings. */
import { Lazy } from "../deployment.ts";
import { custom, type Embedder, type Embeddings } from "../deployment.ts";
import type { Meaning } from "../agents/memory/vectors.ts";
import type { Embed } from "./vectors.ts";

/** What the project exports: a function of texts, or an embeddings object. */
async function ownEmbeddings(lazy: Lazy<Embeddings | Embedder>, texts: string[], env: Env): Promise<number[][]> {
  const own = await lazy.get();
  return typeof own === "function" ? own(texts, env) : own.embedDocuments(texts);
}

/**
 * How the deployment compares meanings: its embeddings, and the Vectorize index that is bound as STORE_INDEX. Undefined where
 * it has no embeddings, and the Store is searched by words.
 */
export function createMeaning(env: Env): Meaning | undefined {
  const { embeddings } = custom;
  if (!embeddings) return undefined;
  const embed: Embed = (texts) =>
    embeddings instanceof Lazy ? ownEmbeddings(embeddings, texts, env) : embeddings(texts, env);
  return { embed, index: env.STORE_INDEX };
}

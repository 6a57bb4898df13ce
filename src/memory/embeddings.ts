/** Semantic search is on when the deployment has embeddings. */
import { custom } from "../users/registry.ts";
import type { Meaning } from "./meaning.ts";

/** Texts to vectors, with the Worker's variables and bindings at hand. */
export type Embeddings = (texts: string[], env: Env) => Promise<number[][]>;

/**
 * How the deployment compares meanings: its embeddings, and the Vectorize index that is bound as STORE_INDEX. Undefined where
 * it has no embeddings, and the Store is searched by words.
 */
export function meaningOf(env: Env): Meaning | undefined {
  const { embeddings } = custom;
  return embeddings && { embed: (texts) => embeddings(texts, env), index: env.STORE_INDEX };
}
